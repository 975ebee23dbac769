{# What an AFTER trigger runs. #}
{% from "sqlite/row.sql" import add, refuse_checked, refuse_uncounted %}
AFTER {{ event }} ON {{ table }} FOR EACH ROW BEGIN
{% for row in rows %}
{% for check in row.checks %}
    {{ refuse_checked(check)|indent }};
{% endfor %}
    {{ add(row)|indent }};
{% if row.uncounted %}
    {{ refuse_uncounted(row)|indent }};
{% endif %}
{% endfor %}
END

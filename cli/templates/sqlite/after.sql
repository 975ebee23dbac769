{# What an AFTER trigger runs. `changes()` is of the statement before, so that nothing stands between the two. #}
{% from "sqlite/row.sql" import add, refuse_if_check_fails, refuse_uncounted %}
AFTER {{ event }} ON {{ table }} FOR EACH ROW BEGIN
{% for addition in additions %}
{% for check in addition.checks %}
    {{ refuse_if_check_fails(check)|indent }};
{% endfor %}
    {{ add(addition)|indent }};
{% if addition.uncounted_message %}
    {{ refuse_uncounted(addition)|indent }};
{% endif %}
{% endfor %}
END

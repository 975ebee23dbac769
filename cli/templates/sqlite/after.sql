{# What an AFTER trigger runs, behind the name of its table. `changes()` is of the statement before, so that nothing
   stands between the two. #}
{% from "sqlite/row.sql" import add, refuse_if_check_fails, refuse_uncounted %}
{% if when %}

{% if comment %}
-- {{ comment }}
{% endif %}
WHEN {{ when|join("\n    AND ") }} BEGIN
{% else %}
 BEGIN
{% endif %}
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

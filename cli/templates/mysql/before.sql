{# Locks the rows that an AFTER trigger will update, in the same order before each event. #}
{% from "mysql/lock.sql" import lock_rows %}
BEGIN
{% for lock in locks %}
{% if lock.condition %}
    IF {{ lock.condition }} THEN
        {{ lock_rows(lock)|indent(8) }}
    END IF;
{% else %}
    {{ lock_rows(lock)|indent }}
{% endif %}
{% endfor %}
END

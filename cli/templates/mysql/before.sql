{# Locks the rows that an AFTER trigger will update, in the same order before each event. #}
{% from "mysql/lock.sql" import lock_rows %}
BEGIN
{% for lock in locks %}
{% if lock.changed %}
    IF {{ lock.changed }} THEN
        {{ lock_rows(lock)|indent(8) }}
    END IF;
{% else %}
    {{ lock_rows(lock)|indent }}
{% endif %}
{% endfor %}
END

{# What the trigger of one event runs. #}
{% from "postgres/add.sql" import add %}
{% if has_variable_name %}
{# A column has the name of a variable of PL/pgSQL, such as `found`. #}
#variable_conflict use_column
{% endif %}
{% if loop_variable %}
DECLARE
    {{ loop_variable }} RECORD;
{% endif %}
BEGIN
{% if event == "TRUNCATE" %}
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE is counted at READ COMMITTED only: use DELETE';
    END IF;
{% endif %}
{% for addition in additions %}
    {{ add(addition, loop_variable)|indent }}
{% endfor %}
    RETURN NULL;
END

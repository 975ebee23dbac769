{# What the trigger of one event runs. All checks come before the additions: to plan a statement already runs functions
   of the tables that it names, such as those of their indexes, with the rights of our owner. #}
{% from "postgres/add.sql" import add %}
{# A name in a statement is that of a column. A variable is written with the label, as in counting.counting_slot. #}
#variable_conflict use_column
<<counting>>
DECLARE
{% if slot %}
    counting_slot INTEGER := {{ slot }};
{% endif %}
{% if has_ordinary_columns %}
    counting_sums RECORD;
{% endif %}
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> {{ schema_literal }} OR TG_TABLE_NAME <> {{ table_literal }} THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            {{ schema_literal }}, {{ table_literal }}, TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> '{{ event }}' THEN
        RAISE 'this function counts at {{ event }}, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ({{ (guard.owned + guard.parents)|join(", ") }})
{%- if guard.table_count > 1 %}

        HAVING COUNT(*) = {{ guard.table_count }}
{%- endif %};
    IF NOT FOUND THEN
{% if guard.parents %}
        -- The owner of a parent can have code run with our rights, so it must have them already.
        PERFORM FROM pg_class WHERE (oid IN ({{ guard.owned|join(", ") }}) AND pg_get_userbyid(relowner) = current_user)
            OR (oid IN ({{ guard.parents|join(", ") }}) AND pg_has_role(relowner, current_user, 'USAGE'))
            HAVING COUNT(*) = {{ guard.table_count }};
        IF NOT FOUND THEN
            RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
        END IF;
{% else %}
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
{% endif %}
    END IF;
{% if event == "TRUNCATE" %}
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',
            current_setting('transaction_isolation');
    END IF;
{% endif %}
{% for addition in additions %}
    {{ add(addition)|indent }}
{% endfor %}
    RETURN NULL;
END

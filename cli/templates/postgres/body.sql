{# What the trigger of one event runs. All checks come before the statement: the planner evaluates functions of the
   tables that a statement names. #}
{% from "postgres/add.sql" import add %}
{% from "postgres/slot.sql" import claim %}
{% set is_other_table = "TG_TABLE_SCHEMA <> " ~ schema ~ " OR TG_TABLE_NAME <> " ~ table %}
#variable_conflict use_column
<<counting>>
DECLARE
{% if slot %}
    -- The length of this setting of the session is the slot of the connection.
    counting_slot INTEGER := COALESCE(octet_length(current_setting('{{ slot.setting }}', true)), 0);
    counting_node TEXT; counting_index INTEGER; counting_parts INTEGER;
{% endif %}
{% if has_columns %}
    counting_sums RECORD;
{% endif %}
BEGIN
    IF {{ is_other_table }} OR TG_OP <> '{{ event }}'
{%- if slot %}

        OR counting_slot NOT BETWEEN 1 AND {{ slot.slots }} OR current_setting('diesel_counters.partition', true) <> ''
{%- endif %} THEN
        -- Whoever has this function could give it rows of another table.
        IF {{ is_other_table }} THEN
            RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
                {{ schema }}, {{ table }}, TG_TABLE_SCHEMA, TG_TABLE_NAME;
        ELSIF TG_OP <> '{{ event }}' THEN
            RAISE 'this function counts at {{ event }}, not at %: generate the triggers again', TG_OP;
        END IF;
{% if slot %}
        {{ claim(slot)|indent(8) }}
{% endif %}
    END IF;
    -- After a rename, whoever may create tables in a schema can take the name of one.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ({{ (guard.counters + guard.parents)|join(", ") }})
{%- if guard.tables > 1 %}

        HAVING COUNT(*) = {{ guard.tables }}
{%- endif %};
    IF NOT FOUND THEN
{% if guard.parents %}
        -- A foreign key of the counters can refer to a table of another role.
        PERFORM FROM pg_class WHERE (oid IN ({{ guard.counters|join(", ") }}) AND pg_get_userbyid(relowner) = current_user)
            OR (oid IN ({{ guard.parents|join(", ") }}) AND (pg_get_userbyid(relowner) = current_user
                OR EXISTS (SELECT FROM pg_constraint WHERE confrelid = pg_class.oid
                    AND conrelid IN ({{ guard.counters|join(", ") }}))))
            HAVING COUNT(*) = {{ guard.tables }};
        IF NOT FOUND THEN
            RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
        END IF;
{% else %}
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
{% endif %}
    END IF;
{% if event == "TRUNCATE" %}
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

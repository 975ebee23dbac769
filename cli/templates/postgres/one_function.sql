{# What the triggers of a table run that an earlier version wrote: one function for all events. `check` knows it. #}
{% from "postgres/add.sql" import add %}
{% from "postgres/slot.sql" import claim %}
{% if guard %}
#variable_conflict use_column
<<counting>>
{% endif %}
DECLARE
{% if slot %}
    counting_slot SMALLINT; counting_node TEXT; counting_index INTEGER; counting_parts INTEGER;
{% endif %}
{% if has_ordinary_columns %}
    counting_sums RECORD;
{% endif %}
BEGIN
    IF TG_TABLE_SCHEMA <> {{ schema_literal }} OR TG_TABLE_NAME <> {{ table_literal }} THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            {{ schema_literal }}, {{ table_literal }}, TG_TABLE_SCHEMA, TG_TABLE_NAME;
    END IF;
{% if guard %}
    IF EXISTS (SELECT FROM pg_class WHERE pg_get_userbyid(relowner) <> current_user
        AND (oid IN ({{ guard.owned|join(", ") }})
{%- if guard.parents %} OR oid IN ({{ guard.parents|join(", ") }})
        AND NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid IN ({{ guard.owned|join(", ") }})
            AND confrelid = pg_class.oid)
{%- endif %})) THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
{% endif %}
{% if slot %}
    counting_slot := length(NULLIF(left(current_setting('{{ slot.setting }}', true), {{ slot.slots }} + 1), ''));
    IF counting_slot IS NULL OR counting_slot > {{ slot.slots }}
        OR current_setting('diesel_counters.partition', true) <> '' THEN
        {{ claim(slot)|indent(8) }}
    END IF;
{% endif %}
    IF TG_OP = 'INSERT' THEN
{% for addition in insert %}
        {{ add(addition)|indent(8) }}
{% endfor %}
{% if update %}
    ELSIF TG_OP = 'UPDATE' THEN
{% for addition in update %}
        {{ add(addition)|indent(8) }}
{% endfor %}
{% endif %}
    ELSIF TG_OP = 'DELETE' THEN
{% for addition in delete %}
        {{ add(addition)|indent(8) }}
{% endfor %}
    ELSE -- TRUNCATE
        IF current_setting('transaction_isolation') <> 'read committed' THEN
            RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',
                current_setting('transaction_isolation');
        END IF;
{% for addition in truncate %}
        {{ add(addition)|indent(8) }}
{% endfor %}
    END IF;
    RETURN NULL;
END

{# Statements that change a schema commit, so that a transaction would end at the first of them. A migration that failed
   half way can have left triggers. What fails half way is found by the next `generate triggers`: a definition is stored
   before the first statement that its triggers need, and dropped after the last one. #}
{% import "mysql/write.sql" as write %}
{% from "existing.sql" import existing %}
{% from "heading.sql" import heading %}
{% for plan in plans %}
{{ heading(plan) }}
{%- endfor %}

{% for plan in plans %}
{{ plan.view }}
{%- endfor %}
{{ drops_of_others|join("") }}
{%- for plan in plans %}
{% for trigger in plan.triggers if trigger.table.name != plan.rows %}
{{ trigger.drop }}{{ trigger.create }}
{%- endfor %}
{% endfor %}

-- If the server has a binary log, creating triggers requires SUPER, or
-- log_bin_trust_function_creators = ON.
-- Until UNLOCK TABLES, other sessions wait for these tables.
LOCK TABLES
    {{ locked|join(",\n    ") }};

{{ drops_of_rows|join("") }}
{%- for plan in plans %}
{{ existing(plan.existing, write) }}
{%- endfor %}

{% for plan in plans %}
{% for trigger in plan.triggers if trigger.table.name == plan.rows %}
{{ trigger.drop }}{{ trigger.create }}
{%- endfor %}
{% endfor %}

UNLOCK TABLES;
{{ dropped_definitions|join("") }}

{# The migration's transaction is the only one that writes, from its first statement on. #}
{% import "sqlite/write.sql" as write %}
{% from "existing.sql" import existing %}
{% if drops %}
{{ drops|join("") }}
{% endif %}
{%- if can_overflow %}
-- abs(-9223372036854775807 - 1) fails: SQLite would make a real number of an integer that overflows.
{% endif %}
{%- for plan in plans %}
{% set counters = plan.counters|wrapped("\n-- ") %}
{% if plan.drops %}
{{ plan.drops|join("") }}
{% endif %}
-- Counts the rows of {{ plan.rows }} in{{ "\n--" if counters|length > 60 }} {{ counters }}.
{% for trigger in plan.triggers %}

{{ trigger.comment }}{{ trigger.create }}
{%- endfor %}

{{ existing(plan.existing, write) }}
{%- if not loop.last %}


{% endif %}
{%- endfor %}

{# The migration's transaction is the only one that writes, from its first statement on. #}
{% import "sqlite/write.sql" as write %}
{% from "existing.sql" import existing %}
{% from "heading.sql" import heading %}
{{ drops|join("") }}
{%- for plan in plans %}
{{ heading(plan) }}
{{- plan.view }}

{% for trigger in plan.triggers %}
{{ trigger.create }}
{%- endfor %}

{{ existing(plan.existing, write) }}
{%- if not loop.last %}


{% endif %}
{%- endfor %}

{# Takes off the rows that refer to a row of the parent table, and adds them as the foreign keys leave them; or after
   it is deleted, the other way round. #}
{% from "rows.sql" import sums %}
{% from "mysql/write.sql" import upsert, update_from %}
BEGIN
{% for addition in additions %}
{% if addition.to.in_slots %}
    {{ upsert(addition.to, sums(addition.sums))|indent }};
{% else %}
    {{ update_from(addition.to, addition.assignments, "(\n    " ~ sums(addition.sums)|indent ~ "\n) AS " ~ addition.sums.name, addition.row_conditions)|indent }};
{% endif %}
{% endfor %}
END

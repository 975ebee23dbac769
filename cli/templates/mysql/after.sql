{# What an AFTER trigger runs. Without BEGIN and END, MySQL keeps the semicolon of a migration behind a single
   statement, and mysqldump writes a trigger that cannot be restored. #}
{% from "mysql/add.sql" import add %}
BEGIN
{% for addition in additions %}
    {{ add(addition)|indent }}
{% endfor %}
END

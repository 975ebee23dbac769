{# Claims a slot for the connection, in the partition that a setting of the database or the role names. Without one, the
   session remembers the slot as the length of a setting, so that this runs once a session. The slots of partition i of
   n are 1+i, 1+i+n, 1+i+2n and so on: a number of the connection picks one of them. #}
{% macro claim(slot) %}
counting_node := COALESCE(NULLIF(current_setting('diesel_counters.partition', true), ''), '0/1');
counting_index := split_part(counting_node, '/', 1);
counting_parts := split_part(counting_node, '/', 2);
IF (counting_index BETWEEN 0 AND counting_parts - 1 AND counting_parts < 32768) IS NOT TRUE THEN
    RAISE 'diesel_counters.partition is %: write 1/3 for the second of three partitions', counting_node;
END IF;
counting_slot := 1 + counting_index + counting_parts * ({{ slot.number }}
    % greatest(({{ slot.slots }} - 1 - counting_index) / counting_parts + 1, 1));
PERFORM set_config('{{ slot.setting }}', repeat('x', counting_slot), false) WHERE counting_parts = 1;
{%- endmacro %}

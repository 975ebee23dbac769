DROP TABLE counter_buffers;

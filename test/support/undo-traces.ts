/** Makes the tables those of the version before traces. */
export const UNDO_TRACES = [
  'insert into request_rules select kind, rule_id, requests.id, action ' +
    'from requests join trace_rules on trace_rules.trace = requests.trace',
  'update requests set rules = (select value from lists where lists.id = trace) where trace is not null',
  'update requests set trace = null',
  'update requests set warning_list = null, warnings = coalesce(warnings, ' +
    '(select value from lists where lists.id = warning_list))',
  'drop index requests_by_trace',
  'drop index requests_with_rules',
  'alter table requests drop column trace',
  'alter table requests drop column warning_list',
  ...['lists', 'trace_rules', 'trace_slots'].map((table) => `drop table ${table}`),
  "delete from kysely_migration where name >= '008'",
]

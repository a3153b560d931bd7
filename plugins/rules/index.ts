export { createBatchEndpoint } from './batch.ts'
export { diffFields, diffRules } from './diff-rules.ts'
export { createRuleEndpoints, HISTORY_ERRORS, replayRuleChange, toRuleResponse } from './endpoints.ts'
export { checkPatternSize, measureRules } from './pattern-size.ts'
export type { RuleCommandSet } from './rule-commands.ts'
export {
  createRuleCommands,
  executeRuleChanges,
  prefixErrors,
  prefixRejection,
  type RuleChange,
  type RuleChangeResult,
  type RuleCommands,
  ruleNotFoundError,
} from './rule-commands.ts'
export {
  enabledField,
  nameField,
  type ParsedField,
  parseFields,
  parseValidFields,
  priorityField,
  type RuleApi,
  type RuleField,
  type RuleKind,
  type RuleKinds,
  ruleBodySchema,
  schemaField,
  showOwner,
} from './rule-kind.ts'
export type { RuleScope } from './rule-scopes.ts'
export {
  type AuditQuery,
  findJudgedRequest,
  forEachRuleSet,
  keepJudgedRequest,
  type RuleHistory,
  type RuleHistoryServices,
  RuleScopes,
} from './rule-scopes.ts'
export { ruleId, ruleSchema } from './schemas.ts'

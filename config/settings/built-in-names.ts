/** The plugins that are part of the gateway and listed by default. */
export const DEFAULT_PLUGIN_NAMES: readonly string[] = [
  'auth',
  'rate-limit',
  'plan',
  'reasoning',
  'firewall',
  'tool-rules',
  'routing',
  'budget',
  'ledger',
  'dispatch',
  'shadow',
  'decorate',
  'rules',
  'policies',
  'identity',
  'approvals',
  'mcp',
  'responses',
  'messages',
  'models',
  'audit',
  'what-if',
  'routers',
  'overview',
  'feedback',
  'metrics',
  'openapi',
  'console',
]

/** All plugins that are part of the gateway. */
export const BUILT_IN_NAMES: readonly string[] = [
  ...DEFAULT_PLUGIN_NAMES,
  'guardrail-webhook',
  'cache',
  'tracing',
]

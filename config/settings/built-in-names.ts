/** The plugins that need no package. */
export const BUILT_IN_NAMES: readonly string[] = [
  'auth',
  'rate-limit',
  'plan',
  'trace',
  'firewall',
  'routing',
  'dispatch',
  'decorate',
  'rules',
  'responses',
  'models',
  'audit',
  'metrics',
  'openapi',
]

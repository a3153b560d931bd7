/** The names of the plugins that are part of the gateway. */
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

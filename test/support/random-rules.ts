import type { Random } from './random.ts'

const WORDS = ['secret', 'token', 'contract', 'Straße', 'x', '12-34', 'KEY', 'summary']
const MODELS = [
  'gpt-4o',
  'gpt-4.1',
  'auto',
  'auto:cost',
  'auto:quality',
  'mistral:ministral-3b-2512',
  'no-such-model',
]
const PROVIDERS = ['openai', 'anthropic', 'gemini', 'mistral', 'deepseek']
const MODES = ['balance', 'cost', 'quality', 'latency', 'fast']

/**
 * A firewall rule. A few block, many share a priority, some cannot be evaluated. No pattern needs
 * backtracking, because on a busy machine a time budget would make its result nondeterministic.
 */
export function randomFirewallRule(random: Random): object {
  const isRegex = random.chance(0.5)
  return {
    ...randomBase(random),
    scope: random.chance(0.9) ? 'prompt' : 'response',
    type: isRegex ? 'regex' : 'substring',
    pattern: isRegex
      ? random.pick(['\\d+', '/secret/', 's(e)cret', '(unclosed', '^x', '[a-c]+t', 'to(?:ken)', 'redacted'])
      : random.pick(WORDS),
    action: random.pick(['mask', 'mask', 'warn', 'warn', 'block']),
    replacement: random.pick([null, '***', '[$1]', 'secret']),
  }
}

/** One that a policy takes: it refuses patterns that cannot be evaluated. */
export function randomPolicyFirewallRule(random: Random): object {
  const rule = randomFirewallRule(random)
  return 'pattern' in rule && rule.pattern === '(unclosed' ? { ...rule, pattern: 'enclosed' } : rule
}

export function randomRoutingRule(random: Random): object {
  return { ...randomBase(random), match_json: randomMatch(random), action_json: randomAction(random) }
}

const GLOBS = ['*', 'read*', '?ead_file', 'write_file', 'mail', 'w*b']

/** A tool rule whose patterns need no backtracking. */
export function randomToolRule(random: Random) {
  const glob = () => random.pick(GLOBS)
  const test = () =>
    random.pick<object>([{ equals: random.pick([1, 'x', null]) }, { contains: 'x' }, { matches: '^x?y' }])
  return {
    ...randomBase(random),
    match: {
      ...(random.chance(0.5) && { server: glob() }),
      ...(random.chance(0.5) && { tool: glob() }),
      ...(random.chance(0.3) && { arguments: { [random.pick(['/a', '/b/0', ''])]: test() } }),
      ...(random.chance(0.2) && { after_reading: [glob()] }),
    },
    action: random.pick(['allow', 'deny', 'hide', 'require_approval', 'warn']),
  }
}

/** A body for a random inference endpoint. */
export function randomRequest(random: Random): { endpoint: 'chat' | 'responses' | 'route'; body: object } {
  const endpoint = random.pick(['chat', 'chat', 'responses', 'route'] as const)
  const model = random.pick(MODELS)
  const metadata = { task: random.pick(['summary', 'other']), level: random.pick(['3', 'high']) }
  switch (endpoint) {
    case 'chat':
      return { endpoint, body: { model, metadata, messages: randomMessages(random) } }
    case 'responses':
      return {
        endpoint,
        body: { model, metadata, input: randomText(random), instructions: randomText(random), store: false },
      }
    default:
      return {
        endpoint,
        body: { prompt: randomText(random), cost_priority: random.pick(MODES), user_id: 'u' },
      }
  }
}

function randomBase(random: Random) {
  return {
    name: `Rule ${random.integer(1000)}`,
    is_enabled: random.chance(0.85),
    priority: random.integer(4) - 2,
  }
}

function randomMatch(random: Random): object {
  return random.pick([
    {},
    {},
    { contains: random.pick(WORDS) },
    { contains: [random.pick(WORDS), random.pick(WORDS)] },
    { contains: [''] },
    { mode: random.pick(MODES) },
    { task: 'summary' },
    { metadata_equals: { level: 3 }, contains: random.pick(WORDS) },
  ])
}

function randomAction(random: Random): object {
  return {
    ...(random.chance(0.3) && { set_provider: random.pick(PROVIDERS) }),
    ...(random.chance(0.3) && { set_model: random.pick(['gpt-4.1', 'ministral-3b-2512', 'not-catalogued']) }),
    ...(random.chance(0.4) && { set_mode: random.pick(MODES) }),
    ...(random.chance(0.4) && { add_warning: `note ${random.integer(5)}` }),
  }
}

function randomMessages(random: Random): readonly object[] {
  return [
    { role: 'system', content: randomText(random) },
    ...(random.chance(0.3) ? [{ role: 'assistant', content: randomText(random) }] : []),
    {
      role: 'user',
      content: random.chance(0.5) ? randomText(random) : [{ type: 'text', text: randomText(random) }],
    },
  ]
}

function randomText(random: Random): string {
  return Array.from({ length: 1 + random.integer(5) }, () => random.pick([...WORDS, 'and', 'the cat'])).join(
    ' ',
  )
}

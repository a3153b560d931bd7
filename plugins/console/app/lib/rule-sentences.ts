import type { EffectiveFirewallRule, EffectiveRoutingRule, EffectiveToolRule } from './schemas.ts'

/** What users may not see of a rule of a policy is missing. */
type ShownRule = Partial<
  Pick<EffectiveFirewallRule, 'scope' | 'type' | 'pattern'> &
    Pick<EffectiveRoutingRule, 'match_json' | 'action_json'> &
    Pick<EffectiveToolRule, 'match'> & { readonly action: string }
>

/** Says what a rule does, or that it is not shown. */
export function toSentence(kind: keyof typeof WRITERS, rule: ShownRule): string {
  return WRITERS[kind](rule)
}

const NOT_SHOWN = 'What it looks for is not shown.'

const PLACES: Readonly<Record<NonNullable<ShownRule['scope']>, string>> = {
  prompt: 'requests',
  response: 'answers',
  tool_call: 'tool calls',
  tool_result: 'results of tools',
}

function writeFirewallRule({ action, scope = 'prompt', type, pattern }: ShownRule): string {
  const place = PLACES[scope]
  if (pattern === undefined) {
    const verb = action === 'mask' ? 'Masks parts of' : action === 'warn' ? 'Warns about some' : 'Blocks some'
    return `${verb} ${place}. ${NOT_SHOWN}`
  }
  const text = type === 'preset' ? `what the preset ${pattern} finds` : quote(pattern)
  const what = type === 'regex' ? `what matches ${pattern}` : text
  if (action === 'mask') return `Masks ${what} in ${place}.`
  return action === 'warn' ? `Warns about ${place} with ${what}.` : `Blocks ${place} with ${what}.`
}

function writeRoutingRule({ match_json: match, action_json: actions }: ShownRule): string {
  if (match === undefined || actions === undefined) return 'Routes some requests. When and how is not shown.'
  const conditions = Object.entries(match).map(([name, value]) => writePart(CONDITIONS, name, value))
  const effects = Object.entries(actions).map(([name, value]) => writePart(ACTIONS, name, value))
  const which = conditions.length === 0 ? 'All requests' : `Requests ${conditions.join(' and ')}`
  return `${which}: ${effects.join(', ') || 'no effect'}.`
}

type Parts = Readonly<Record<string, (value: unknown) => string>>

/** Plugins add conditions and actions, too. */
function writePart(parts: Parts, name: string, value: unknown): string {
  return parts[name]?.(value) ?? `${name.replaceAll('_', ' ')} ${write(value)}`
}

const CONDITIONS: Parts = {
  contains: (texts) => `with ${[texts].flat().map(quote).join(' or ')}`,
  metadata_equals: (values) => `with the metadata ${write(values)}`,
  mode: (mode) => `in the mode ${write(mode)}`,
  task: (task) => `of the task ${write(task)}`,
}

interface Arm {
  readonly model?: string
  readonly weight?: number
}

const ACTIONS: Parts = {
  set_model: (model) => `answered by ${write(model)}`,
  set_provider: (provider) => `answered by ${write(provider)}`,
  set_mode: (mode) => `a model is chosen in the mode ${write(mode)}`,
  split: (models) => `split among ${listShares(models)}`,
  shadow: writeShadow,
  require: (attributes) => `only by models with ${write(attributes)}`,
  add_warning: (warning) => `answered with the warning ${quote(messageOf(warning))}`,
}

/** The models of a split with their shares: `gpt-4o (90 %), gpt-4o-mini (10 %)`. */
export function listShares(value: unknown): string {
  const arms = (Array.isArray(value) ? value : ((value as { arms?: unknown }).arms ?? [])) as readonly Arm[]
  const total = arms.reduce((sum, { weight = 1 }) => sum + weight, 0)
  return arms.map(({ model, weight = 1 }) => `${model} (${toPercent(weight / total)})`).join(', ')
}

function writeShadow(value: unknown): string {
  const { model, sample = 1 } = value as { readonly model?: string; readonly sample?: number }
  return `copies of ${toPercent(sample)} of them for ${model}`
}

function messageOf(warning: unknown): unknown {
  return typeof warning === 'object' && warning !== null && 'message' in warning ? warning.message : warning
}

const TOOL_VERBS: Readonly<Record<string, string>> = {
  allow: 'Allows',
  deny: 'Denies',
  hide: 'Hides',
  require_approval: 'Asks for an approval of',
  warn: 'Warns about',
}

function writeToolRule({ action = '', match }: ShownRule): string {
  const verb = TOOL_VERBS[action] ?? action
  if (match === undefined) return `${verb} some tool calls. ${NOT_SHOWN}`
  const { server = 'all servers', tool = 'all tools', arguments: tests, after_reading } = match
  const tools = `${tool} of ${server}`
  const what = action === 'hide' ? tools : `calls of ${tools}`
  const given = tests === undefined ? '' : ` with the arguments ${write(tests)}`
  const after =
    after_reading === undefined ? '' : `, once the session has read from ${after_reading.join(' or ')}`
  return `${verb} ${what}${given}${after}.`
}

const WRITERS = { firewall: writeFirewallRule, routing: writeRoutingRule, tool: writeToolRule } as const

const quote = (text: unknown) => `“${text}”`

const toPercent = (share: number) => `${Math.round(share * 1000) / 10} %`

function write(value: unknown): string {
  if (Array.isArray(value)) return value.map(write).join(', ')
  if (typeof value !== 'object' || value === null) return String(value)
  return Object.entries(value)
    .map(([name, part]) => `${name}: ${write(part)}`)
    .join(', ')
}

import {
  type Exchange,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type MaybePromise,
  type Message,
  type RepliedExchange,
  type ReplyTransform,
  type RuleSet,
  type ToolStart,
  type Warning,
} from '../../core/contract/index.ts'
import { parseUniqueJson } from '../../core/util/json.ts'
import { chain } from '../../core/util/maybe-promise.ts'
import { digestOfArguments, findInexactNumbers } from '../../core/util/tool-arguments.ts'
import type { Approvals } from '../approvals/index.ts'
import type { ToolFirewall, ToolFirewallRecord } from '../firewall/index.ts'
import { definedName, findReadServers, replaceMessages, withoutTools } from './conversation.ts'
import { toolRuleError } from './error-codes.ts'
import type { ToolRules, ToolVerdict } from './index.ts'
import {
  type CallDecider,
  type CallVerdict,
  type CompleteCall,
  MAX_HELD_LENGTH,
  ruleReplyCalls,
} from './reply-calls.ts'
import { type NamedTool, type ReadName, readToolName } from './tool-name.ts'

/** The section `tool_rules` of the settings. */
export interface ToolRuleSettings {
  readonly in_replies: 'refuse' | 'remove' | 'off'
  readonly approvals: 'ask' | 'pass'
  readonly hide_definitions: boolean
}

interface TrafficServices {
  readonly rules: ToolRules
  readonly firewall: ToolFirewall | undefined
  readonly approvals: Approvals | undefined
  readonly settings: ToolRuleSettings
}

/** What there are rules about. A number, because it is asked of every request. */
const TOOLS = 1
const CALLS = 2
const RESULTS = 4

const subjects = new WeakMap<RuleSet, number>()

function subjectsOfSet(rules: RuleSet): number {
  let found = subjects.get(rules)
  if (found !== undefined) return found
  found = rules.tool.some((rule) => rule.is_enabled) ? TOOLS : 0
  for (const { scope, is_enabled } of rules.firewall) {
    if (is_enabled && scope === 'tool_call') found |= CALLS
    if (is_enabled && scope === 'tool_result') found |= RESULTS
  }
  subjects.set(rules, found)
  return found
}

function subjectsOf({ policies, rules, operation = 'chat' }: Exchange): number {
  if (operation !== 'chat') return 0
  let found = subjectsOfSet(rules)
  for (const policy of policies) found |= subjectsOfSet(policy)
  return found
}

/**
 * Applies tool rules, and firewall rules about calls and results, to the traffic with models: see
 * docs/guides/tool-rules-in-replies.md. Requests without such rules pass untouched.
 */
export function createTrafficRules(services: TrafficServices) {
  const { firewall, settings } = services
  return {
    decide(exchange: Exchange): MaybePromise<void> {
      const found = subjectsOf(exchange)
      if (found === 0) return
      const inspected = firewall && found > TOOLS ? inspectMessages(firewall, exchange) : undefined
      if (!settings.hide_definitions || (found & TOOLS) === 0) return inspected
      return chain(inspected, () => hideDefinitions(services.rules, exchange))
    },
    inspect(exchange: RepliedExchange): ReplyTransform | undefined {
      const { in_replies: mode } = settings
      const found = subjectsOf(exchange)
      if (mode === 'off' || (found & (TOOLS | CALLS)) === 0) return undefined
      return ruleReplyCalls(new ReplyCallDecider(services, exchange, found), mode)
    },
  }
}

const isResult = ({ role }: Message) => role === 'tool'
const hasCalls = ({ tool_calls: calls }: Message) => calls != null && calls.length > 0

/** The results of tools and the calls of earlier replies. */
async function inspectMessages(firewall: ToolFirewall, exchange: Exchange): Promise<void> {
  const inspect = async (
    scope: 'tool_call' | 'tool_result',
    isOf: (message: Message) => boolean,
    toInspected: (message: Message) => Message,
  ) => {
    const { request } = exchange
    const given = request.messages.filter(isOf).map(toInspected)
    const inspected = await firewall.inspectMessages(exchange, scope, given, exchange)
    if (inspected === given) return
    exchange.request = { ...request, messages: replaceMessages(request.messages, isOf, inspected) }
  }
  await inspect('tool_call', hasCalls, ({ role, tool_calls }) => ({ role, tool_calls: tool_calls ?? [] }))
  await inspect('tool_result', isResult, (message) => message)
}

async function hideDefinitions(rules: ToolRules, exchange: Exchange): Promise<void> {
  const { request } = exchange
  const hidden = new Set<string>()
  for (const tool of request.tools ?? []) {
    const name = definedName(tool)
    if (name !== undefined && !(await isListed(rules, exchange, readToolName(name)))) hidden.add(name)
  }
  if (hidden.size === 0) return
  exchange.request = withoutTools(request, hidden)
  const names = [...hidden].map(quoteTool)
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : ''
  const listed = names.slice(0, MAX_NAMED).join(', ')
  const message = `Tool rules leave these tools out of the request: ${listed}${more}.`
  exchange.warnings.push({ code: 'tool', message })
}

const MAX_NAMED = 10

async function isListed(
  rules: ToolRules,
  exchange: Exchange,
  { readings, isDeceptive }: ReadName,
): Promise<boolean> {
  if (isDeceptive) return false
  for (const tool of readings) if (!(await rules.isListed(exchange, tool, true))) return false
  return true
}

/** Names are those of clients and models: as JSON, they cannot pass for other text. */
const quoteTool = (name: string) => JSON.stringify(name.slice(0, 200))

/** A verdict, and under which name. */
interface NamedVerdict {
  readonly verdict: ToolVerdict
  readonly tool: NamedTool
}

interface PreparedCall {
  readonly call: CompleteCall
  readonly json: string
  readonly required?: NamedVerdict
}

/** See docs/decisions/rules.md, "The default of a server holds where it is called". */
class ReplyCallDecider implements CallDecider {
  readonly #services: TrafficServices
  readonly #exchange: RepliedExchange
  readonly #hasToolRules: boolean
  readonly #hasCallRules: boolean
  #read: ReadonlySet<string> | undefined

  constructor(services: TrafficServices, exchange: RepliedExchange, found: number) {
    this.#services = services
    this.#exchange = exchange
    this.#hasToolRules = (found & TOOLS) !== 0
    this.#hasCallRules = services.firewall !== undefined && (found & CALLS) !== 0
  }

  async byName(start: ToolStart): Promise<'pass' | GatewayError | undefined> {
    const name = readToolName(start.name)
    if (this.#hasToolRules && name.isDeceptive) return deceptiveError(start)
    if (this.#hasCallRules || (await this.#needsArguments(name))) return undefined
    if (!this.#hasToolRules) return 'pass'
    const decided = await this.#decide(name, {})
    return toDenial(start, decided.verdict) ?? 'pass'
  }

  /** All approvals are asked for before any is used up: the calls of a reply pass together or not at all. */
  async complete(calls: readonly CompleteCall[]): Promise<readonly CallVerdict[]> {
    const prepared: (PreparedCall | GatewayError)[] = []
    for (const call of calls) prepared.push(await refusalOf(() => this.#prepare(call)))
    const asked = this.#services.settings.approvals === 'ask'
    const isTogether = this.#services.settings.in_replies === 'refuse'
    if (asked && isTogether)
      for (const [index, each] of prepared.entries())
        if (!GatewayError.isInstance(each))
          prepared[index] = await refusalOf(() => this.#approve(each, 'ask'))
    const isRefused = isTogether && prepared.some((each) => GatewayError.isInstance(each))
    const verdicts: CallVerdict[] = []
    for (const each of prepared) {
      const used =
        GatewayError.isInstance(each) || isRefused || !asked
          ? each
          : await refusalOf(() => this.#approve(each, 'claim'))
      verdicts.push(GatewayError.isInstance(used) ? { refusal: used } : { json: used.json })
    }
    return verdicts
  }

  tooLong({ name }: ToolStart): GatewayError {
    const message =
      `The call of the tool ${quoteTool(name)} was refused: tool rules need its arguments, and those of ` +
      `the reply are longer than ${MAX_HELD_LENGTH} characters.`
    return toolRuleError('tool_denied', message)
  }

  removed({ name }: ToolStart, refusal: GatewayError): void {
    const message = `The reply is without a call of ${quoteTool(name)}. ${refusal.message}`
    this.#warn([{ code: 'tool', message }])
  }

  async #needsArguments({ readings }: ReadName): Promise<boolean> {
    const { rules } = this.#services
    for (const tool of readings)
      if (await rules.needsArguments(this.#exchange, { ...tool, read: this.#readServers() })) return true
    return false
  }

  /** Decides by the rules, then inspects the arguments. Throws the refusal. */
  async #prepare(call: CompleteCall): Promise<PreparedCall> {
    const { start } = call
    const name = readToolName(start.name)
    let required: NamedVerdict | undefined
    if (this.#hasToolRules) {
      const args = parseArguments(call)
      if (args === undefined && (await this.#needsArguments(name))) throw unreadableError(start)
      const decided = await this.#decide(name, args ?? {}, call.json)
      const denial = toDenial(start, decided.verdict)
      if (denial !== undefined) throw denial
      if (decided.verdict.action === 'require_approval') required = decided
    }
    const json = await this.#inspectArguments(call)
    return { call, json, ...(required && { required }) }
  }

  async #inspectArguments({ json }: CompleteCall): Promise<string> {
    const { firewall } = this.#services
    if (firewall === undefined || !this.#hasCallRules || json === '') return json
    const record: ToolFirewallRecord = { warnings: [], trace: [] }
    try {
      return (await firewall.inspect(this.#exchange, 'tool_call', json, record)).json
    } finally {
      this.#warn(record.warnings)
      this.#exchange.trace.push(...record.trace)
    }
  }

  /** The strictest of the verdicts about all readings of the name. */
  async #decide({ readings }: ReadName, args: JsonObject, json = ''): Promise<NamedVerdict> {
    const { rules } = this.#services
    const inexactNumbers = findInexactNumbers(json)
    const decided: NamedVerdict[] = []
    for (const tool of readings) {
      const call = { ...tool, arguments: args, inexactNumbers, read: this.#readServers() }
      decided.push({ tool, verdict: await rules.decide(this.#exchange, call) })
    }
    const [strictest] = decided.sort((a, b) => strictnessOf(b.verdict) - strictnessOf(a.verdict))
    if (strictest === undefined) throw new Error('A name has no reading.')
    const isRefused = strictnessOf(strictest.verdict) === REFUSED
    this.#record(isRefused ? [strictest] : decided)
    return strictest
  }

  /** A rule may match several readings. */
  #record(decided: readonly NamedVerdict[]): void {
    const { trace } = this.#exchange
    const messages = new Set<string>()
    const rules = new Set<number>()
    for (const { verdict } of decided) {
      const isNew = ({ message }: Warning) => !messages.has(message) && messages.add(message)
      this.#warn(verdict.warnings.filter(isNew))
      for (const entry of verdict.trace) {
        if (rules.has(entry.rule_id)) continue
        rules.add(entry.rule_id)
        trace.push({ ...entry, scope: 'response' })
      }
    }
  }

  #warn(warnings: readonly Warning[]): void {
    for (const warning of warnings) this.#exchange.warnings.push({ ...warning, scope: 'response' })
  }

  async #approve(prepared: PreparedCall, way: 'ask' | 'claim'): Promise<PreparedCall> {
    const { call, json, required } = prepared
    if (required === undefined) return prepared
    const { approvals } = this.#services
    const { verdict, tool } = required
    const name = quoteTool(call.start.name)
    if (approvals === undefined || verdict.rule === undefined)
      throw toolRuleError(
        'approval_required',
        `The call of ${name} needs an approval, and nobody can give one.`,
      )
    const { account, id: requestId, rulesPosition } = this.#exchange
    const shown = parseArguments({ ...call, json })
    const { status, id, expiresAt } = await approvals[way]({
      ...{ account, requestId, ...tool, rulesPosition },
      argumentsDigest: digestOfArguments(parseArguments(call) ?? {}, call.json),
      rule: { id: verdict.rule.id, name: verdict.rule.name },
      ...(shown && { arguments: shown }),
    })
    if (status === 'granted') return prepared
    const meta = { approval_id: id, expires_at: expiresAt }
    if (status === 'denied')
      throw toolRuleError('approval_denied', `The call of ${name} was not approved.`, { meta })
    const message = `An operator must approve the call of ${name} (${id}). Then send the request again.`
    throw toolRuleError('approval_required', message, { meta })
  }

  /** Only rules about what was read need it. */
  #readServers(): ReadonlySet<string> {
    this.#read ??= findReadServers(this.#exchange.request.messages)
    return this.#read
  }
}

/** Returns the refusal that a function throws. */
async function refusalOf<Value>(run: () => Promise<Value>): Promise<Value | GatewayError> {
  try {
    return await run()
  } catch (error) {
    if (GatewayError.isInstance(error)) return error
    throw error
  }
}

/** The input of a custom tool, which is any text, is its argument `input`. Undefined: not a JSON object. */
function parseArguments({ start, json }: CompleteCall): JsonObject | undefined {
  if (start.custom) return { input: json }
  if (json.trim() === '') return {}
  // Of two equal names, rules would see the last value, and the client perhaps the first.
  const args = parseUniqueJson(json)
  return isJsonObject(args) ? args : undefined
}

const REFUSED = 2

function strictnessOf({ action }: ToolVerdict): number {
  if (action === 'deny' || action === 'hide') return REFUSED
  return action === 'require_approval' ? 1 : 0
}

/** Undefined if the call is not denied. */
function toDenial({ name }: ToolStart, verdict: ToolVerdict): GatewayError | undefined {
  if (strictnessOf(verdict) !== REFUSED) return undefined
  const { rule, warnings } = verdict
  const why = rule === undefined ? (warnings[0]?.message ?? '') : `${quoteRule(rule)} denies it.`
  const meta = rule && { rule_id: rule.id, ...(rule.origin && { origin: rule.origin }) }
  const message = `The call of the tool ${quoteTool(name)} was refused: ${why}`
  return toolRuleError('tool_denied', message, meta && { meta })
}

function quoteRule({ name, origin }: NonNullable<ToolVerdict['rule']>): string {
  return origin === undefined ? `the rule "${name}"` : `the rule "${name}" of policy "${origin.name}"`
}

function deceptiveError({ name }: ToolStart): GatewayError {
  const message =
    `The call of the tool ${quoteTool(name)} was refused: its name mixes letters of several scripts, so ` +
    'tool rules cannot tell which tool it means. Rename the tool.'
  return toolRuleError('tool_denied', message)
}

function unreadableError({ name }: ToolStart): GatewayError {
  const message =
    `The call of the tool ${quoteTool(name)} was refused: tool rules need its arguments, and these are no ` +
    'JSON object.'
  return toolRuleError('tool_denied', message)
}

import {
  definePlugin,
  type MaybePromise,
  optional,
  type RuleSet,
  type Static,
  StrictObject,
  settingsOf,
  Type,
  type Warning,
} from '../../core/contract/index.ts'
import { PatternLimitError, PatternRun, scaleCpuLimit } from '../../core/patterns/pattern-run.ts'
import {
  compiledCacheOptions,
  createCompiledCache,
  createLookupCounter,
} from '../../core/util/compiled-cache.ts'
import { countChars } from '../../core/util/json.ts'
import { includesOwnRules } from '../../projections/accounts.ts'
import { Approvals } from '../approvals/index.ts'
import { ToolFirewall } from '../firewall/index.ts'
import { createRuleEndpoints, RuleScopes } from '../rules/index.ts'
import { type CompiledToolRules, compileToolRules } from './compile.ts'
import { TOOL_RULE_ERROR_CODES } from './error-codes.ts'
import { evaluateToolRules, isToolListed, needsArguments } from './evaluate.ts'
import { type ToolCall, type ToolCaller, ToolRules, type ToolVerdict } from './index.ts'
import { createTrafficRules, type ToolRuleSettings } from './model-traffic.ts'

/** `cpu_ms`: CPU time in the pattern workers for a call; increases with its arguments. */
const toolRuleOptions = StrictObject({
  ...compiledCacheOptions.properties,
  cpu_ms: Type.Integer({ minimum: 10, maximum: 60_000, default: 500 }),
})

/**
 * Evaluates the tool rules of policies and of the user, also about calls in replies of models; serves
 * `/v1/tool-rules`.
 */
export default definePlugin({
  name: 'tool-rules',
  after: ['auth', 'plan'],
  before: ['cache', 'dispatch'],
  options: toolRuleOptions,
  replay: { type: 'pure' },
  uses: {
    rules: RuleScopes,
    settings: settingsOf<ToolRuleSettings>('tool_rules'),
    firewall: optional(ToolFirewall),
    approvals: optional(Approvals),
  },
  provides: [ToolRules],
  setup(options: Static<typeof toolRuleOptions>, { use, provide, metrics }) {
    const { kinds, own } = use.rules
    const getCompiled = createCompiledCache(
      compileToolRules,
      options,
      ({ tool }) => tool.length,
      createLookupCounter(metrics, 'tool-rules'),
    )

    /** Undefined if rules take too long to compile. */
    async function compileAll(sets: readonly RuleSet[]): Promise<readonly CompiledToolRules[] | undefined> {
      try {
        const compiled: CompiledToolRules[] = []
        for (const rules of sets) compiled.push(await getCompiled(rules))
        return compiled
      } catch (error) {
        if (error instanceof PatternLimitError) return undefined
        throw error
      }
    }

    async function evaluate(
      sets: readonly RuleSet[],
      { account, client }: ToolCaller,
      call: ToolCall,
    ): Promise<ToolVerdict> {
      const compiled = await compileAll(sets)
      if (compiled === undefined)
        return refuse('The tool rules could not be compiled within their time limit')
      const cpuLimitMs = scaleCpuLimit(options.cpu_ms, countChars(call.arguments, MAX_COUNTED_CHARS))
      return evaluateToolRules(compiled, call, new PatternRun({ owner: account.userId, client, cpuLimitMs }))
    }

    const rules: ToolRules = {
      decide(caller, call): MaybePromise<ToolVerdict> {
        const sets = ruleSetsOf(caller)
        const suspended = listSuspended(caller)
        if (sets.length === 0) return { ...NOTHING_DECIDED, warnings: suspended }
        if (isNameTooLong(call)) return refuse('The name is too long for tool rules')
        return evaluate(sets, caller, call).then((verdict) => ({
          ...verdict,
          warnings: [...suspended, ...verdict.warnings],
        }))
      },
      isListed(caller, tool, byDefault) {
        const sets = ruleSetsOf(caller)
        if (sets.length === 0) return byDefault
        if (isNameTooLong(tool)) return false
        return compileAll(sets).then(
          (compiled) => compiled !== undefined && isToolListed(compiled, tool, byDefault),
        )
      },
      needsArguments(caller, call) {
        const sets = ruleSetsOf(caller)
        if (sets.length === 0 || isNameTooLong(call)) return false
        return compileAll(sets).then((compiled) => compiled !== undefined && needsArguments(compiled, call))
      },
    }
    provide(ToolRules, rules)
    const { settings, firewall, approvals } = use
    return {
      errorCodes: TOOL_RULE_ERROR_CODES,
      endpoints: createRuleEndpoints(kinds.tool, own),
      ...createTrafficRules({ rules, settings, firewall, approvals }),
    }
  },
})

const NOTHING_DECIDED = { action: undefined, rule: undefined, trace: [] }

/** The sets with tool rules. The own rules of users whose plan includes none are suspended. */
function ruleSetsOf({ account, policies, rules }: ToolCaller): readonly RuleSet[] {
  const sets = includesOwnRules(account.plan) ? [...policies, rules] : policies
  return sets.filter(({ tool }) => tool.length > 0)
}

/** Rules never stop working silently. */
function listSuspended({ account, rules }: ToolCaller): readonly Warning[] {
  if (includesOwnRules(account.plan)) return []
  const count = rules.tool.filter((rule) => rule.is_enabled).length
  if (count === 0) return []
  const subject = count === 1 ? '1 stored tool rule was' : `${count} stored tool rules were`
  return [{ code: 'plan', message: `${subject} not applied: custom rules require a paid plan.` }]
}

/** Beyond it, a glob could hold the event loop. */
const MAX_NAME_LENGTH = 1024

function isNameTooLong({ server, tool }: Pick<ToolCall, 'server' | 'tool'>): boolean {
  return server.length > MAX_NAME_LENGTH || tool.length > MAX_NAME_LENGTH
}

/** Longer arguments get no more time. */
const MAX_COUNTED_CHARS = 10_000_000

/** Without its rules no call may pass. */
function refuse(reason: string): ToolVerdict {
  const warnings = [{ code: 'tool', message: `${reason}.` }]
  return { action: 'deny', rule: undefined, warnings, trace: [] }
}

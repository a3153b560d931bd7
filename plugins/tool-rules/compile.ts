import type {
  ArgumentTest,
  RuleOrigin,
  RuleSet,
  RuleTraceEntry,
  ToolRule,
  Warning,
} from '../../core/contract/index.ts'
import { PatternLimitError, type PatternRun } from '../../core/patterns/pattern-run.ts'
import { compilePattern, preparePatterns } from '../../core/patterns/patterns.ts'
import { createBoundedCache } from '../../core/util/bounded-cache.ts'
import { mapInSlices } from '../../core/util/cooperative-yield.ts'
import type { MaybePromise } from '../../core/util/maybe-promise.ts'
import { ABSENT, equalsJson, findValue, parsePointer, textsOf } from './arguments.ts'
import { compileGlob, isGlob } from './glob.ts'
import type { ToolCall } from './index.ts'
import { patternSource, patternSources } from './rule-kind.ts'

/** The enabled tool rules of a user or a policy, in evaluation order. */
export interface CompiledToolRules {
  readonly isPolicy: boolean
  /** The rules whose conditions about names hold. */
  rulesFor(tool: Pick<ToolCall, 'server' | 'tool'>): readonly CompiledToolRule[]
}

/** Tests the arguments. Throws or rejects with a `PatternLimitError` beyond the limits of the run. */
export type ArgumentsTest = (call: ToolCall, run: PatternRun) => MaybePromise<boolean>

export interface CompiledToolRule {
  readonly rule: ToolRule
  readonly origin: RuleOrigin | undefined
  /** Whether the conditions about names hold. */
  matchesName(tool: Pick<ToolCall, 'server' | 'tool'>): boolean
  /** Whether names alone decide if the rule matches. */
  readonly needsOnlyNames: boolean
  /** Whether the session has read what the rule is about. */
  matchesReading(read: ReadonlySet<string>): boolean
  readonly tests: readonly ArgumentsTest[]
  /** The trace entry if the rule applies. */
  readonly applied: RuleTraceEntry
  /** The warning of a rule with the action `warn`. */
  readonly warning: Warning
}

/** Rejects with a `PatternLimitError` if the patterns take too long to compile. */
export async function compileToolRules({ tool, origin, ownerId }: RuleSet): Promise<CompiledToolRules> {
  const enabled = tool.filter((rule) => rule.is_enabled)
  await preparePatterns(enabled.flatMap(patternSources), ownerId)
  const rules = await mapInSlices(enabled, (rule) => compileRule(rule, origin))
  const candidatesFor = indexByTool(rules)
  const byName = createBoundedCache<string, readonly CompiledToolRule[]>(MAX_NAMES)
  return {
    isPolicy: origin !== undefined,
    rulesFor({ server, tool }) {
      const name = `${server.length}:${server}${tool}`
      const known = byName.get(name)
      if (known !== undefined) return known
      const found = candidatesFor(tool).filter(({ matchesName }) => matchesName({ server, tool }))
      byName.set(name, found)
      return found
    },
  }
}

/** Returns the rules that may match a tool, in their order, without those that name another one. */
function indexByTool(rules: readonly CompiledToolRule[]): (tool: string) => readonly CompiledToolRule[] {
  const patterns: number[] = []
  const exact = new Map<string, number[]>()
  for (const [index, { rule }] of rules.entries()) {
    const { tool = '*' } = rule.match
    if (isGlob(tool)) patterns.push(index)
    else {
      const named = exact.get(tool)
      if (named === undefined) exact.set(tool, [index])
      else named.push(index)
    }
  }
  const all = patterns.map((index) => rules[index] as CompiledToolRule)
  return (tool) => {
    const named = exact.get(tool)
    if (named === undefined) return all
    return [...patterns, ...named].sort((a, b) => a - b).map((index) => rules[index] as CompiledToolRule)
  }
}

/** Names whose rules are kept. Callers choose the names of tools in the traffic of models. */
const MAX_NAMES = 1000

function compileRule(rule: ToolRule, origin: RuleOrigin | undefined): CompiledToolRule {
  const { id, name, action, match } = rule
  const { server = '*', tool = '*', arguments: tests = {}, after_reading: reading } = match
  const [isServer, isTool] = [compileGlob(server), compileGlob(tool)]
  const readGlobs = reading?.map(compileGlob)
  return {
    rule,
    origin,
    needsOnlyNames: readGlobs === undefined && Object.keys(tests).length === 0,
    matchesName: (tool) => isServer(tool.server) && isTool(tool.tool),
    matchesReading: (read) =>
      readGlobs === undefined || [...read].some((server) => readGlobs.some((isRead) => isRead(server))),
    tests: Object.entries(tests).map(([pointer, test]) => compileTest(pointer, test, action)),
    // Frozen, because all calls share it, and plugins see it.
    applied: Object.freeze({
      kind: 'tool',
      rule_id: id,
      name,
      action,
      outcome: 'applied',
      ...(origin && { origin }),
    }),
    warning: toolWarning(rule, origin, 'triggered'),
  }
}

/**
 * A value that is no text passes no test of a rule that allows. Other rules search all texts in it, because a
 * server may take them out. See docs/decisions/rules.md, "Tool rules search values that are no text".
 */
function compileTest(pointer: string, test: ArgumentTest, action: ToolRule['action']): ArgumentsTest {
  const names = parsePointer(pointer)
  const source = patternSource(test)
  if (source === undefined) {
    const { equals } = test as { readonly equals: unknown }
    return (call) => {
      const value = findValue(call.arguments, names)
      // What is only nearly the same must not be allowed, and not get past a rule that refuses it.
      if (action === 'allow' && hasInexact(call) && mayHoldNumbers(value)) return false
      return equalsJson(value, equals)
    }
  }
  const pattern = compilePattern(source)
  return (call, run) => {
    const value = findValue(call.arguments, names)
    if (value === ABSENT) return false
    // Rules are not stored with such patterns: the limits have changed since.
    if ('error' in pattern) throw new PatternLimitError(pattern.error)
    if (typeof value === 'string') return pattern.test(value, run)
    if (action === 'allow') return false
    const written = mayHoldNumbers(value) ? (call.inexactNumbers ?? []) : []
    return pattern.testAny([...textsOf(value), ...written], run)
  }
}

function hasInexact({ inexactNumbers }: ToolCall): boolean {
  return inexactNumbers !== undefined && inexactNumbers.length > 0
}

function mayHoldNumbers(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'object' && value !== null)
}

/** A warning about a rule. */
export function toolWarning({ name }: ToolRule, origin: RuleOrigin | undefined, text: string): Warning {
  const quoted = origin === undefined ? `"${name}"` : `"${name}" of policy "${origin.name}"`
  return { code: 'tool', message: `Tool rule ${quoted} ${text}.` }
}

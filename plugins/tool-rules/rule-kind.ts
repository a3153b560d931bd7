import {
  type ArgumentTest,
  GatewayError,
  isJsonObject,
  StringEnum,
  type ToolMatch,
  type ToolRule,
  type TSchema,
} from '../../core/contract/index.ts'
import { PatternLimitError } from '../../core/patterns/pattern-run.ts'
import { compilePattern, preparePatterns } from '../../core/patterns/patterns.ts'
import type { PatternSource } from '../../core/pcre/pattern.ts'
import { createLazyTypeGuard } from '../../core/util/json-schema.ts'
import type { ToolContent } from '../../projections/events/rules.ts'
import {
  enabledField,
  nameField,
  parseValidFields,
  priorityField,
  type RuleField,
  type RuleKind,
  schemaField,
  showOwner,
} from '../rules/index.ts'
import { ArgumentTestSchema, POINTER_PATTERN, TOOL_ACTIONS, ToolMatchSchema, toolRuleApi } from './schemas.ts'

const FIELDS: readonly RuleField[] = [
  nameField,
  enabledField,
  priorityField,
  {
    name: 'match',
    required: true,
    schema: () => ({ ...ToolMatchSchema }),
    parse(value) {
      const issues = findMatchIssues(value)
      return issues.length > 0 ? { issues } : { value }
    },
  },
  schemaField('action', StringEnum(TOOL_ACTIONS), `one of ${TOOL_ACTIONS.join(', ')}`),
]

/** Tool rules: fields, validation and events (docs/api.md, "Tool rules"). */
export const toolRules: RuleKind<ToolRule, ToolContent> = {
  name: 'tool',
  api: toolRuleApi,
  fields: FIELDS,
  // The cast is safe: every required field is present, and its value was parsed.
  parseNew: (body) => parseValidFields(FIELDS, body, true) as unknown as ToolContent,
  parseChanges: (body) => parseValidFields(FIELDS, body, false),
  created: (owner, ruleId, content, more) => ({
    type: 'ToolRuleCreated',
    data: { ...owner, ruleId, content, ...more },
  }),
  updated: (owner, ruleId, changes, more) => ({
    type: 'ToolRuleUpdated',
    data: { ...owner, ruleId, changes, ...more },
  }),
  deleted: (owner, ruleId) => ({ type: 'ToolRuleDeleted', data: { ...owner, ruleId } }),
  show(rule) {
    const { id, name, is_enabled, priority, match, action, created_at, updated_at } = rule
    return { id, ...showOwner(rule), name, is_enabled, priority, match, action, created_at, updated_at }
  },
  async prepare(contents, ownerId) {
    await preparePatterns(contents.flatMap(patternSources), ownerId).catch((cause: unknown) => {
      if (!(cause instanceof PatternLimitError)) throw cause
      throw new GatewayError('invalid_rule', 'A pattern takes too long to compile. Shorten it.', { cause })
    })
  },
  /** A rule that cannot be evaluated would refuse every call of its tools. */
  check({ match }) {
    for (const [pointer, test] of Object.entries(match.arguments ?? {})) {
      const source = patternSource(test)
      const pattern = source && compilePattern(source)
      if (pattern === undefined || !('error' in pattern)) continue
      const issue = `${pathOf(pointer)} cannot be evaluated: ${pattern.error}.`
      throw new GatewayError('invalid_rule', issue, { errors: { match: [issue] } })
    }
  },
  lint: () => [],
}

/** The pattern of a test; undefined if it has none. */
export function patternSource(test: ArgumentTest): PatternSource | undefined {
  if ('matches' in test) return { kind: 'regex', text: test.matches }
  return 'contains' in test ? { kind: 'literal', text: test.contains } : undefined
}

/** The patterns of a rule. */
export function patternSources({ match }: Pick<ToolRule, 'match'>): readonly PatternSource[] {
  return Object.values(match.arguments ?? {}).flatMap((test) => patternSource(test) ?? [])
}

const { server: ServerGlob, tool: ToolGlob, after_reading: Reading } = ToolMatchSchema.properties

interface ConditionCheck {
  readonly isValid: (value: unknown) => boolean
  readonly expected: string
}

const check = (schema: TSchema, expected: string): ConditionCheck => ({
  isValid: createLazyTypeGuard({ ...schema }),
  expected,
})

const CONDITIONS: Readonly<Record<keyof ToolMatch, ConditionCheck>> = {
  server: check(ServerGlob, 'a name of 1 to 256 characters, in which * and ? are wildcards'),
  tool: check(ToolGlob, 'a name of 1 to 256 characters, in which * and ? are wildcards'),
  arguments: {
    isValid: (value) => isJsonObject(value) && Object.keys(value).length <= 100,
    expected: 'an object with at most 100 tests by JSON pointer, such as {"/path": {"contains": "secret"}}',
  },
  after_reading: check(Reading, 'a list of 1 to 100 names of servers, in which * and ? are wildcards'),
}

const isTest = createLazyTypeGuard({ ...ArgumentTestSchema })
const isPointer = new RegExp(POINTER_PATTERN)
const MAX_POINTER_LENGTH = 1000

/** Every issue of a `match`, as sentences: a misspelled condition would match other calls. */
function findMatchIssues(match: unknown): readonly string[] {
  if (!isJsonObject(match))
    return ['The match field must be an object such as {"server": "files", "tool": "delete_*"}.']
  return Object.entries(match).flatMap(([name, value]) => {
    if (!Object.hasOwn(CONDITIONS, name))
      return [`match.${name} is not a condition. Use ${Object.keys(CONDITIONS).join(', ')}.`]
    const { isValid, expected } = CONDITIONS[name as keyof ToolMatch]
    if (!isValid(value)) return [`match.${name} must be ${expected}.`]
    return name === 'arguments' ? Object.entries(Object(value)).flatMap(findTestIssues) : []
  })
}

function findTestIssues([pointer, test]: [string, unknown]): readonly string[] {
  if (!isPointer.test(pointer) || pointer.length > MAX_POINTER_LENGTH)
    return [
      `${pathOf(pointer)}: the name must be a JSON pointer (RFC 6901) of at most ${MAX_POINTER_LENGTH} ` +
        'characters, such as "/path" or "/files/0/name"; in names, ~0 stands for ~ and ~1 for /.',
    ]
  if (isTest(test)) return []
  return [
    `${pathOf(pointer)} must have exactly one of equals (any JSON value), contains (a text of 1 to 10000 ` +
      'characters) and matches (a pattern of 1 to 10000 characters).',
  ]
}

const pathOf = (pointer: string) => `match.arguments[${JSON.stringify(pointer)}]`

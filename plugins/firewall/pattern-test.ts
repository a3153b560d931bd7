import {
  data,
  type Endpoint,
  endpoint,
  GatewayError,
  Nullable,
  operator,
  type Static,
  StrictObject,
  StringEnum,
  Type,
  user,
} from '../../core/contract/index.ts'
import { PatternLimitError, PatternRun, scaleCpuLimit } from '../../core/patterns/pattern-run.ts'
import { type CompiledPattern, compilePattern, preparePatterns } from '../../core/patterns/patterns.ts'
import type { PatternMatch } from '../../core/pcre/pattern.ts'
import { DEFAULT_REPLACEMENT, patternSource, toReplacement } from './compile.ts'

const MAX_TEXT = 100_000
const MAX_MATCHES = 1000

/** Patterns of operators take turns with those of users, whose ids are positive. */
const OWNER = 0

const PatternTest = StrictObject(
  {
    type: StringEnum(['substring', 'regex', 'preset'], { description: 'Kind of the pattern.' }),
    pattern: Type.String({ minLength: 1, maxLength: 10_000, description: 'The pattern.' }),
    text: Type.String({ maxLength: MAX_TEXT, description: 'The text to search.' }),
    replacement: Type.Optional(
      Nullable(Type.String({ maxLength: 1000 }), {
        description: 'What masks put in place of a match; null or missing: [redacted].',
      }),
    ),
  },
  { $id: 'PatternTest', description: 'A pattern of a firewall rule, and a text.' },
)

const PatternTestResult = Type.Object(
  {
    pattern_error: Nullable(Type.String(), {
      description: 'Why the pattern cannot be evaluated; null if it can.',
    }),
    is_match: Type.Boolean({ description: 'Whether a rule that blocks or warns would apply.' }),
    is_finished: Type.Boolean({
      description:
        'Whether the pattern finished within its limits. A rule that blocks or masks refuses if not.',
    }),
    matches: Type.Array(
      Type.Object(
        {
          start: Type.Integer({ description: 'Index of the first UTF-16 unit.' }),
          end: Type.Integer({ description: 'Index behind the last one.' }),
        },
        { $id: 'PatternMatch', description: 'A match that is not empty.' },
      ),
      { description: `The first ${MAX_MATCHES} matches that are not empty.` },
    ),
    is_truncated: Type.Boolean({ description: 'Whether there are more matches.' }),
    masked: Nullable(Type.String(), {
      description: 'The text after a rule that masks; null if it cannot be told.',
    }),
  },
  { $id: 'PatternTestResult', description: 'What a pattern finds.' },
)

const patternTest = {
  method: 'POST',
  tags: ['rules'],
  body: PatternTest,
  examples: { mask: { type: 'regex', pattern: '\\d{4}', text: 'My PIN is 4711.', replacement: '####' } },
  responses: { 200: { description: 'What it finds.', body: data(PatternTestResult) } },
  errors: ['invalid_rule'],
} as const

/**
 * `POST /admin/pattern-test` and `/v1/pattern-test`: run a pattern as a rule would. `cpuMs`: the limit of a
 * live request.
 */
export function createPatternTestEndpoints(cpuMs: number): readonly Endpoint[] {
  return [
    endpoint({
      ...patternTest,
      path: '/admin/pattern-test',
      access: operator('auditor', 'whole'),
      operationId: 'testPattern',
      summary: 'Runs the pattern of a firewall rule on a text, with the limits of a live request.',
      handle: ({ body, client }) => testPattern(body, { owner: OWNER, client, cpuMs }),
    }),
    endpoint({
      ...patternTest,
      path: '/v1/pattern-test',
      access: user({ plan: 'paid' }),
      operationId: 'testOwnPattern',
      summary: 'Runs the pattern of a firewall rule on a text, with the limits of a live request.',
      handle: ({ body, client, account }) => testPattern(body, { owner: account.userId, client, cpuMs }),
    }),
  ]
}

interface PatternTestLimits extends Pick<ConstructorParameters<typeof PatternRun>[0], 'client'> {
  /** Whose patterns it takes turns with. */
  readonly owner: number
  readonly cpuMs: number
}

async function testPattern(
  { type, pattern: text, ...test }: Static<typeof PatternTest>,
  { owner, client, cpuMs }: PatternTestLimits,
) {
  const source = patternSource({ type, pattern: text })
  await preparePatterns([source], owner).catch((cause: unknown) => {
    if (!(cause instanceof PatternLimitError)) throw cause
    throw new GatewayError('invalid_rule', 'The pattern takes too long to compile. Shorten it.', { cause })
  })
  const pattern = compilePattern(source)
  if ('error' in pattern) return respond({ pattern_error: pattern.error })
  const run = new PatternRun({ owner, client, cpuLimitMs: scaleCpuLimit(cpuMs, test.text.length) })
  const replacement = toReplacement({ type, replacement: test.replacement ?? DEFAULT_REPLACEMENT })
  let found = {}
  try {
    const is_match = await pattern.test(test.text, run)
    const all = is_match ? await findMatches(pattern, test.text, replacement, run) : []
    const matches = all.slice(0, MAX_MATCHES).map(({ start, end }) => ({ start, end }))
    found = { is_match, matches, is_truncated: all.length > MAX_MATCHES }
    return respond({ ...found, masked: await pattern.replace(test.text, replacement, run) })
  } catch (error) {
    if (!(error instanceof PatternLimitError)) throw error
    return respond({ ...found, is_finished: false })
  }
}

const NOTHING = {
  pattern_error: null,
  is_match: false,
  is_finished: true,
  matches: [],
  is_truncated: false,
  masked: null,
}

function respond(result: object) {
  return { status: 200, body: { data: { ...NOTHING, ...result } } }
}

/** Finds one match more than are shown. Nothing follows the text, so what is open at its end is a match. */
async function findMatches(
  pattern: CompiledPattern,
  text: string,
  replacement: ReturnType<typeof toReplacement>,
  run: PatternRun,
): Promise<readonly PatternMatch[]> {
  const found: PatternMatch[] = []
  for (let from = 0; found.length <= MAX_MATCHES; ) {
    const { matches, openMatch } = await pattern.scan({ text, from, replacement }, run)
    found.push(...matches)
    if (openMatch === undefined) break
    found.push(openMatch)
    from = openMatch.end
  }
  return found
}

import { firewallRuleBody } from './bodies.ts'
import type { Random } from './random.ts'

/** A body of a rule or a batch; most of them are invalid. */
export function randomRuleBody(random: Random): unknown {
  if (random.chance(0.1)) return random.pick(['{', 'null', '[]', '"x"', '{"a":', '\u0000'])
  if (random.chance(0.2)) return { operations: [randomJson(random, 3), randomJson(random, 3)] }
  const fields = [
    'name',
    'is_enabled',
    'priority',
    'match_json',
    'action_json',
    'scope',
    'type',
    'pattern',
    'action',
    'replacement',
  ]
  const sound: Record<string, unknown> = {
    ...firewallRuleBody({ pattern: randomPattern(random) }),
    match_json: {},
    action_json: {},
    replacement: '$1',
  }
  return Object.fromEntries(
    fields
      .filter(() => random.chance(0.9))
      .map((field) => [field, random.chance(0.6) ? sound[field] : randomJson(random, 3)]),
  )
}

/** A body that gets further than one of other fields. */
export function randomPrompt(random: Random): object {
  const role = random.pick(['user', 'system', 'assistant', 'tool', 'developer'])
  const text = random.pick(['text', 'input_text', 'tool_result', 'file', 'extra_content'])
  const parts = [{ type: text, text: 'x', [text]: randomJson(random, 2), content: randomJson(random, 2) }]
  const content = random.pick<unknown>(['hello', parts, randomJson(random, 3)])
  const messages = [
    { role: 'user', content: 'hello' },
    { role, content, tool_call_id: 'c' },
  ]
  return {
    ...(random.chance(0.6) ? { messages, max_tokens: 5 } : { input: content, prompt: content }),
    ...(random.chance(0.3) && {
      tools: [randomJson(random, 3)],
      rules: { firewall: [firewallRuleBody({})] },
    }),
    ...(random.chance(0.3) && Object(randomJson(random, 2))),
  }
}

export function randomJson(random: Random, depth: number): unknown {
  const leaf = [
    null,
    true,
    -1,
    1e308,
    'x',
    '',
    '\ud800',
    'ß'.repeat(200),
    'a\u0000b',
    0.1,
    1001,
    '{"contains":1}',
  ]
  if (depth === 0 || random.chance(0.4)) return random.pick(leaf)
  const size = random.integer(4)
  if (random.chance(0.3)) return Array.from({ length: size }, () => randomJson(random, depth - 1))
  const keys = [
    'contains',
    'role',
    'content',
    'messages',
    'mode',
    'set_model',
    'type',
    'text',
    'kind',
    'op',
    'id',
    'data',
    'constructor',
    'toString',
  ]
  return Object.fromEntries(
    Array.from({ length: size }, () => [random.pick(keys), randomJson(random, depth - 1)]),
  )
}

export function randomPattern(random: Random): string {
  const pieces = [
    'a',
    '.',
    '*',
    '+',
    '?',
    '(',
    ')',
    '[',
    ']',
    '{2,3}',
    '\\d',
    '\\',
    '^',
    '$',
    '|',
    '(?=',
    '(?<',
    '/',
    'i',
    '\\1',
    '[[:alpha:]]',
    'ß',
    '\n',
  ]
  return Array.from({ length: 1 + random.integer(10) }, () => random.pick(pieces)).join('')
}

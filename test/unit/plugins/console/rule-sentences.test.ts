import { expect } from 'chai'
import { toSentence } from '../../../../plugins/console/app/lib/rule-sentences.ts'

const SENTENCES: readonly (readonly [...Parameters<typeof toSentence>, sentence: string])[] = [
  [
    'firewall',
    { scope: 'prompt', type: 'substring', pattern: 'plan 9', action: 'block' },
    'Blocks requests with “plan 9”.',
  ],
  [
    'firewall',
    { scope: 'response', type: 'regex', pattern: '/a+/i', action: 'warn' },
    'Warns about answers with what matches /a+/i.',
  ],
  [
    'firewall',
    { scope: 'tool_call', type: 'preset', pattern: 'email', action: 'mask' },
    'Masks what the preset email finds in tool calls.',
  ],
  ['firewall', { scope: 'prompt', action: 'block' }, 'Blocks some requests. What it looks for is not shown.'],
  [
    'firewall',
    { scope: 'tool_result', action: 'mask' },
    'Masks parts of results of tools. What it looks for is not shown.',
  ],
  ['routing', { match_json: {}, action_json: {} }, 'All requests: no effect.'],
  [
    'routing',
    {
      match_json: { contains: ['a', 'b'], mode: 'cost' },
      action_json: { set_model: 'gpt-4o', add_warning: { message: 'Dear' } },
    },
    'Requests with “a” or “b” and in the mode cost: answered by gpt-4o, answered with the warning “Dear”.',
  ],
  [
    'routing',
    {
      match_json: { task: 'chat', metadata_equals: { team: 'a' } },
      action_json: {
        split: [
          { model: 'a', weight: 3 },
          { model: 'b', weight: 1 },
        ],
      },
    },
    'Requests of the task chat and with the metadata team: a: split among a (75 %), b (25 %).',
  ],
  [
    'routing',
    {
      match_json: {},
      action_json: {
        require: { zdr: true },
        shadow: { model: 'c', sample: 0.1 },
        split: { arms: [{ model: 'a', weight: 1 }] },
      },
    },
    'All requests: only by models with zdr: true, copies of 10 % of them for c, split among a (100 %).',
  ],
  [
    'routing',
    { match_json: { day: 'Sunday' }, action_json: { cache: false } },
    'Requests day Sunday: cache false.',
  ],
  ['routing', {}, 'Routes some requests. When and how is not shown.'],
  ['tool', { match: {}, action: 'warn' }, 'Warns about calls of all tools of all servers.'],
  [
    'tool',
    { match: { server: 'files', tool: 'delete_*', after_reading: ['web', 'mail'] }, action: 'deny' },
    'Denies calls of delete_* of files, once the session has read from web or mail.',
  ],
  [
    'tool',
    { match: { server: 'files', arguments: { '/path': { equals: '/etc' } } }, action: 'require_approval' },
    'Asks for an approval of calls of all tools of files with the arguments /path: equals: /etc.',
  ],
  ['tool', { match: { tool: 'x' }, action: 'hide' }, 'Hides x of all servers.'],
  ['tool', { action: 'deny' }, 'Denies some tool calls. What it looks for is not shown.'],
]

describe('sentences about rules', () => {
  for (const [kind, rule, sentence] of SENTENCES) {
    it(sentence, () => {
      expect(toSentence(kind, rule)).to.equal(sentence)
    })
  }
})

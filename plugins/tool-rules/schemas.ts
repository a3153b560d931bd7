import { StrictObject, StringEnum, Type } from '../../core/contract/index.ts'
import { type RuleApi, ruleSchema } from '../rules/index.ts'

/** Names of servers and tools, and globs over them. */
const MAX_NAME = 256
const MAX_TEXT = 10_000

export const TOOL_ACTIONS = ['allow', 'deny', 'hide', 'require_approval', 'warn'] as const

const glob = (what: string) =>
  Type.String({
    minLength: 1,
    maxLength: MAX_NAME,
    description: `${what}: * stands for any characters, ? for one.`,
  })

const test = { minLength: 1, maxLength: MAX_TEXT }

/** RFC 6901. */
export const POINTER_PATTERN = '^(?:/(?:[^~/]|~[01])*)*$'

export const ArgumentTestSchema = Type.Union(
  [
    StrictObject(
      { equals: Type.Unknown({ description: 'Any JSON value: it is compared deeply.' }) },
      { $id: 'ArgumentEquals', description: 'The value is equal.' },
    ),
    StrictObject(
      { contains: Type.String({ ...test, description: 'A text, in any case.' }) },
      { $id: 'ArgumentContains', description: 'The value contains a text.' },
    ),
    StrictObject(
      { matches: Type.String({ ...test, description: 'A PCRE pattern.' }) },
      { $id: 'ArgumentMatches', description: 'The value matches a pattern.' },
    ),
  ],
  { $id: 'ArgumentTest', description: 'A test of one value of the arguments.' },
)

export const ToolMatchSchema = StrictObject(
  {
    server: Type.Optional(glob('Name of the server')),
    tool: Type.Optional(glob('Name of the tool')),
    arguments: Type.Optional(
      Type.Record(Type.String({ pattern: POINTER_PATTERN, maxLength: 1000 }), ArgumentTestSchema, {
        additionalProperties: false,
        maxProperties: 100,
        description: 'Tests by JSON pointer (RFC 6901) into the arguments. All of them must hold.',
      }),
    ),
    after_reading: Type.Optional(
      Type.Array(glob('Name of a server'), {
        minItems: 1,
        maxItems: 100,
        description: 'The session must have read a result of one of these servers.',
      }),
    ),
  },
  {
    $id: 'ToolMatch',
    description: 'The conditions. All of them must hold; none matches every call.',
  },
)

const ToolRuleSchema = ruleSchema('ToolRule', 'A rule about the calls of tools.', {
  match: ToolMatchSchema,
  action: StringEnum(TOOL_ACTIONS, { description: 'What happens to a call that matches.' }),
})

const exampleToolRule = {
  name: 'No deletions',
  is_enabled: true,
  priority: 10,
  match: { server: 'files', tool: 'delete_*' },
  action: 'deny',
}

const examples = {
  deny: exampleToolRule,
  arguments: {
    ...exampleToolRule,
    name: 'Ask before mails to others',
    match: { tool: 'send_mail', arguments: { '/to': { matches: '@(?!example\\.com$)' } } },
    action: 'require_approval',
  },
  after_reading: {
    ...exampleToolRule,
    name: 'Nothing leaves after reading the web',
    match: { server: 'mail', after_reading: ['web', 'search_*'] },
  },
}

export const toolRuleApi: RuleApi = {
  path: 'tool-rules',
  name: 'ToolRule',
  schema: ToolRuleSchema,
  examples,
  change: { action: 'require_approval' },
  errors: ['invalid_rule'],
}

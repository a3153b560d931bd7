import {
  type JsonObject,
  MODES,
  PLANS,
  type Static,
  StrictObject,
  StringEnum,
  Type,
} from '../../core/contract/index.ts'
import { SIMULATED_ENDPOINTS } from '../audit/index.ts'
import { reference } from './schemas.ts'

const texts = (description: string) =>
  Type.Optional(
    Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.String({ minLength: 1 }))], { description }),
  )

const name = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))

const Expectations = StrictObject(
  {
    outcome: Type.Optional(
      StringEnum(['allowed', 'refused'], { description: 'Whether the request is sent to a provider.' }),
    ),
    blocked_by: name('Name of the firewall rule that blocks the request.'),
    policy: name('Name of the policy of that rule.'),
    error: name('Code of the error, such as firewall_blocked.'),
    contains: texts('Texts that the request has as it is sent.'),
    lacks: texts('Texts that it does not have, such as those that are masked.'),
    warnings: texts('Texts that occur in the warnings. An empty list: there are no warnings.'),
    applied: texts('Names of rules that do something to the request.'),
    provider: name('Provider that the request is sent to first.'),
    model: name('Model that the request is sent to first.'),
    mode: Type.Optional(StringEnum(MODES, { description: 'Routing mode.' })),
  },
  { minProperties: 1, description: 'What must happen.' },
)

const Case = StrictObject(
  {
    name: Type.String({ minLength: 1, description: 'What the case shows.' }),
    user: Type.Optional(reference('user')),
    groups: Type.Optional(
      Type.Array(reference('group'), { description: 'Groups of the user; default: those of the file.' }),
    ),
    plan: Type.Optional(StringEnum(PLANS, { description: 'Plan of the user. Default: paid.' })),
    endpoint: Type.Optional(
      StringEnum(SIMULATED_ENDPOINTS, { description: 'Default: derived from the fields of the request.' }),
    ),
    prompt: name('Text of a chat completion request without a model, in place of a request.'),
    request: Type.Optional(
      Type.Unsafe<JsonObject>({ type: 'object', description: 'Body of the request to the endpoint.' }),
    ),
    expect: Expectations,
  },
  { description: 'A request, and what must happen to it.' },
)

/** Requests with expected outcomes. See docs/guides/rule-tests.md. */
export const RuleCasesSchema = StrictObject(
  { cases: Type.Array(Case, { minItems: 1, description: 'The cases.' }) },
  { $id: 'RuleCases', description: 'Requests with expected outcomes.' },
)

export type RuleCase = Static<typeof Case>
export type RuleExpectations = Static<typeof Expectations>

import {
  type Author,
  data,
  type Endpoint,
  endpoint,
  GatewayError,
  operator,
  StrictObject,
  StringEnum,
  Type,
} from '../../core/contract/index.ts'
import { AnyObject } from '../../core/dialects/schema-types.ts'
import { Count, WarningSchema } from '../../core/http/schemas.ts'
import type { OperatorAccounts } from '../../projections/operator-accounts.ts'
import { applyFile, planFile, type RulesFileServices } from './apply.ts'
import { exportRulesFile } from './export.ts'
import type { PlannedChange, RulesPlan } from './planned.ts'
import { RulesFileSchema, SECTIONS } from './schemas.ts'

interface RulesFileEndpointServices extends RulesFileServices {
  readonly operators: Pick<OperatorAccounts, 'find'>
}

const ruleLists = (kind: string) =>
  Type.Optional(AnyObject(`Lists of ${kind} rules: added, changed (field by field) and removed.`))

const changeSchema = StrictObject(
  {
    action: StringEnum(['add', 'change', 'remove'], { description: 'What happens.' }),
    type: StringEnum(['group', 'policy', 'user', 'budget'], { description: 'To what it happens.' }),
    id: Type.Union([Type.Integer(), Type.String(), Type.Null()], {
      description: 'Id of what it happens to; null for something new, and for the budget of everything.',
    }),
    name: Type.String({ description: 'Name of what it happens to.' }),
    fields: Type.Optional(AnyObject('The values of each changed field: from and to.')),
    members: Type.Optional(AnyObject('Lists of users: added and removed.')),
    firewall_rules: ruleLists('firewall'),
    routing_rules: ruleLists('routing'),
    tool_rules: ruleLists('tool'),
  },
  { $id: 'RulesFileChange', description: 'A difference between the file and what there is.' },
)

const changes = Type.Array(changeSchema, { description: 'The differences. Empty if there are none.' })

const FileWarningSchema = Type.Object(
  { path: Type.String({ description: 'Path of the rule in the file.' }), ...WarningSchema.properties },
  { $id: 'RulesFileWarning', description: 'A warning about a rule of the file, which is valid.' },
)

const PlanSchema = Type.Object(
  {
    position: Count('Log position that the plan was made at.'),
    changes,
    warnings: Type.Array(FileWarningSchema, { description: 'Warnings about rules of the file.' }),
  },
  { $id: 'RulesFilePlan', description: 'What applying a file would do.' },
)

const AppliedSchema = Type.Object(
  {
    ...PlanSchema.properties,
    applied: Type.Array(
      Type.Object(
        {
          stream: Type.String({ description: 'Stream of the event log that was appended to.' }),
          title: Type.String({ description: 'What the stream is about.' }),
        },
        { $id: 'RulesFileAppend', description: 'Events that were appended together.' },
      ),
      { description: 'The appends, in order.' },
    ),
  },
  { $id: 'AppliedRulesFile', description: 'What applying a file did.' },
)

const file = RulesFileSchema
const position = Type.Optional(
  Type.Integer({
    minimum: 0,
    format: 'int64',
    description: 'Position of a plan: refuses if the event log has newer events of any kind.',
  }),
)
const plannedChanges = Type.Optional(
  Type.Array(Type.Unsafe<PlannedChange>(AnyObject('A change.')), {
    description: 'Changes of a plan: refuses if the file would make other ones.',
  }),
)

const example = {
  file: {
    policies: [{ name: 'Personal data', is_enabled: true, priority: 100, applies_to: { everyone: true } }],
  },
}

const tags = ['policies']

/** Creates `/admin/rules/file`: export, plan and apply (docs/guides/gitops.md). */
export function createRulesFileEndpoints(services: RulesFileEndpointServices): readonly Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/admin/rules/file',
      access: operator('auditor'),
      operationId: 'exportRules',
      summary: 'Returns policies, groups, rules of users and budgets as a file.',
      tags,
      query: {
        sections: Type.Optional(
          Type.String({
            pattern: `^(${SECTIONS.join('|')})(,(${SECTIONS.join('|')}))*$`,
            description: `Sections, separated by commas: ${SECTIONS.join(', ')}. Default: all.`,
            examples: ['policies,groups'],
          }),
        ),
        names: Type.Optional(
          Type.Boolean({
            description: 'Refers to everything by name, which must be unique, in place of its id.',
            examples: [false],
          }),
        ),
      },
      responses: { 200: { description: 'The file.', body: data(file) } },
      errors: ['conflict'],
      handle({ query: { sections, names = false } }) {
        const chosen = SECTIONS.filter((name) => sections === undefined || sections.split(',').includes(name))
        return { status: 200, body: { data: exportRulesFile(services, { sections: chosen, names }) } }
      },
    }),
    endpoint({
      method: 'POST',
      path: '/admin/rules/file/plan',
      access: operator('auditor'),
      operationId: 'planRules',
      summary: 'Compares a file with what there is. Changes nothing.',
      tags,
      body: StrictObject({ file }, { $id: 'RulesFileInput', description: 'A file.' }),
      examples: { policy: example },
      responses: { 200: { description: 'The plan.', body: data(PlanSchema) } },
      errors: ['validation_error'],
      async handle({ body }) {
        return { status: 200, body: { data: showPlan(await planFile(body.file, services)) } }
      },
    }),
    endpoint({
      method: 'POST',
      path: '/admin/rules/file/apply',
      access: operator('editor'),
      operationId: 'applyRules',
      summary: 'Makes the changes that a file leads to, in one append for each policy, group and user.',
      description: 'Changes of budgets require the role admin.',
      tags,
      body: StrictObject(
        { file, position, changes: plannedChanges },
        { $id: 'RulesFileApplication', description: 'A file, and the plan that it must still lead to.' },
      ),
      examples: { policy: example },
      responses: { 200: { description: 'What was done.', body: data(AppliedSchema) } },
      errors: ['validation_error', 'conflict', 'change_too_large', 'event_log_full', 'budget_unavailable'],
      async handle({ body, author }) {
        const terms = {
          ...(body.position !== undefined && { position: body.position }),
          ...(body.changes && { changes: body.changes }),
        }
        const check = (plan: RulesPlan) => requireRoleForBudgets(plan, author, services)
        const { plan, applied } = await applyFile(body.file, terms, services, author, check)
        return { status: 200, body: { data: { ...showPlan(plan), applied } } }
      },
    }),
  ]
}

/** A plan as it is shown, and given back with `changes`. */
export function showPlan({ position, changes, warnings }: RulesPlan) {
  return { position, changes, warnings }
}

function requireRoleForBudgets(
  { changes }: RulesPlan,
  { actor }: Author,
  { operators }: Pick<RulesFileEndpointServices, 'operators'>,
): void {
  const mayChange = actor.type !== 'operator' || operators.find(actor.id)?.role === 'admin'
  if (mayChange || !changes.some(({ type }) => type === 'budget')) return
  const message = 'The file changes budgets, which requires the role admin. Nothing was changed.'
  throw new GatewayError('role_required', message)
}

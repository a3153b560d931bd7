import { post, send } from '../lib/api.ts'
import { useData } from '../lib/data.ts'
import { formatCount } from '../lib/format.ts'
import { groups, users } from '../lib/names.ts'
import { href, navigate } from '../lib/router.ts'
import type { Group, GroupMember, Operator, Policy, User } from '../lib/schemas.ts'
import { hasRole } from '../lib/session.ts'
import { ListPicker } from '../ui/combobox.tsx'
import { ChangeButton } from '../ui/dialogs.tsx'
import { CheckField, fieldsOf, type Values } from '../ui/fields.tsx'
import { Empty, Panel, ResourceView, useAddress } from '../ui/page.tsx'
import { Badge, Time, UserLink } from '../ui/values.tsx'
import { BudgetPanel } from './budgets.tsx'
import { KEYS, RotateButton, USER_FIELD } from './keys.tsx'
import { BY_NAME, createResourcePages, type ItemProps, List, type ResourceSpec } from './resource.tsx'
import { RuleEditor } from './rule-editor.tsx'

const PLAN = { hint: 'Users on the free plan have no rules of their own.' }
const LIMIT = { hint: 'Never set: the limit of the plan. Cleared: no limit.' }

export const UserPages = createResourcePages<User>({
  path: 'users',
  title: 'Users',
  noun: 'user',
  writer: 'admin',
  created: fieldsOf('UserInput', { plan: PLAN }),
  initial: { plan: 'paid' },
  edited: fieldsOf('UserChange', {
    ...{ plan: PLAN, requests_per_minute: LIMIT, tokens_per_minute: LIMIT },
    max_concurrent: { ...LIMIT, label: 'Requests at the same time' },
    tool_calls_per_minute: LIMIT,
  }),
  isSetTogether: true,
  filters: BY_NAME,
  empty: 'There are no users yet.',
  columns: [
    {
      title: 'User',
      value: ({ name }) => name,
      cell: ({ id, name }) => (
        <>
          <a href={href(`/users/${id}`)}>{name}</a> <small class="muted">{id}</small>
        </>
      ),
    },
    { title: 'Id', kind: 'number', isOptional: true, value: ({ id }) => id },
    { title: 'Plan', value: ({ plan }) => plan, cell: ({ plan }) => <Badge>{plan}</Badge> },
    { title: 'Groups', value: (user) => user.groups.map((id) => groups.of(id)).join(', ') },
    {
      title: 'Keys',
      kind: 'number',
      value: ({ keys }) => keys.filter(({ revoked_at }) => revoked_at === null).length,
      format: formatCount,
      total: 'sum',
    },
    {
      title: 'Created',
      value: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Time value={created_at} />,
    },
  ],
  summary: ({ id, plan, created_at, groups: ids, identity }) => (
    <>
      <Badge>{plan}</Badge> · created <Time value={created_at} />
      {ids.length > 0 && ' · in '}
      {ids.map((group, index) => (
        <>
          {index > 0 && ', '}
          <a href={href(`/groups/${group}`)}>{groups.of(group)}</a>
        </>
      ))}{' '}
      ·{' '}
      {identity && (
        <>
          <code>{identity.subject}</code> at {identity.issuer} ·{' '}
        </>
      )}
      <a href={href('/requests', { user: id })}>Requests</a> ·{' '}
      <a href={href('/time', { user: id })}>Rules over time</a> ·
    </>
  ),
  panels: (_, path) => (
    <>
      <List spec={KEYS} parent={path} />
      <BudgetPanel path={`${path}/budget`} />
      <RuleEditor path={path} canEdit={hasRole('editor')} />
    </>
  ),
  warning: 'The keys are invalid immediately. Requests and changes of the user stay in the records.',
})

export const GroupPages = createResourcePages<Group>({
  path: 'groups',
  title: 'Groups',
  noun: 'group',
  writer: 'editor',
  created: fieldsOf('GroupInput'),
  initial: {},
  edited: fieldsOf('GroupInput'),
  empty: 'There are no groups. Policies can apply to a group of users.',
  item: ({ item: { id, name, description } }) => (
    <li>
      <a href={href(`/groups/${id}`)}>{name}</a> <small class="muted">{description}</small>
    </li>
  ),
  summary: ({ id }) => (
    <>
      <a href={href('/requests', { group: id })}>Requests</a> ·
    </>
  ),
  panels: ({ id }, path) => (
    <>
      <List spec={MEMBERS} parent={path} />
      <BudgetPanel path={`${path}/budget`} />
      <GroupPolicies id={id} />
    </>
  ),
  warning: 'Its users stay.',
})

/** The policies that apply to a group, whose rules are those of the group. */
function GroupPolicies({ id }: { readonly id: number }) {
  const policies = useData<readonly Policy[]>('/admin/policies', { limit: 500 })
  const create = (body: Values, reason: string) =>
    post<Policy>('/admin/policies', body, { reason }).then((policy) => navigate(`/policies/${policy.id}`))
  const add = hasRole('editor') && (
    <ChangeButton
      label="New policy"
      action="Create"
      fields={POLICY_FIELDS}
      value={{ ...NEW_POLICY, applies_to: { groups: [id] } }}
      onSave={create}
    />
  )
  return (
    <Panel title="Policies" actions={add}>
      <ResourceView resource={policies}>
        {(all) => {
          const own = all.filter(({ applies_to }) => appliesToGroup(applies_to as Targets, id))
          if (own.length === 0) return <Empty>No policy applies to the group.</Empty>
          return (
            <ul class="list">
              {own.map((policy) => (
                <li key={policy.id}>
                  <a href={href(`/policies/${policy.id}`)}>{policy.name}</a>{' '}
                  <small class="muted">applies to {describeTargets(policy.applies_to as Targets)}</small>{' '}
                  {!policy.is_enabled && <Badge>disabled</Badge>}
                </li>
              ))}
            </ul>
          )
        }}
      </ResourceView>
    </Panel>
  )
}

const appliesToGroup = ({ everyone, groups: targets = [] }: Targets, id: number) =>
  everyone === true || targets.includes(id)

const MEMBERS: ResourceSpec<GroupMember> = {
  path: 'members',
  title: 'Members',
  noun: 'member',
  writer: 'editor',
  created: [USER_FIELD],
  initial: {},
  add: {
    label: 'Add a user',
    action: 'Add',
    send: (list, { user }, reason) =>
      send('PUT', `${list}/${user}`, undefined, { reason }).then(() => undefined),
  },
  empty: 'Nobody is in the group.',
  item: ({ item: { id, name }, actions }) => (
    <li class="spread">
      <UserLink id={id} name={name} />
      {actions}
    </li>
  ),
  removeLabel: 'Remove',
  pathOf: ({ id }, list) => `${list}/${id}`,
}

const ROLE = { hint: 'auditor reads, editor also changes rules, admin does everything.' }

const OPERATOR_FIELDS = fieldsOf('OperatorInput', {
  role: ROLE,
  expires_at: { label: 'Key expires', type: 'datetime-local', hint: 'Empty: never.' },
  scope: { empty: null, render: (value, set) => <ScopeFields scope={value as Scope} onChange={set} /> },
})

export const OperatorPages = createResourcePages<Operator>({
  path: 'operators',
  title: 'Operators',
  noun: 'operator',
  writer: 'admin',
  created: OPERATOR_FIELDS,
  initial: { role: 'auditor', scope: null },
  edited: OPERATOR_FIELDS.filter(({ name }) => name !== 'expires_at'),
  removeLabel: 'Remove',
  empty: 'There are no operators: everybody uses the ADMIN_KEY. Create one to see who changed what.',
  item: OperatorItem,
  buttons: ({ id, external }, onDone) =>
    external ? null : <RotateButton path={`/admin/operators/${id}`} onDone={onDone} />,
  warning: 'The key and all sessions end immediately.',
})

type Scope = Operator['scope']

function ScopeFields({ scope, onChange }: { scope: Scope; onChange: (scope: Scope) => void }) {
  const chosen = scope?.groups ?? []
  return (
    <fieldset class="choices">
      <legend>
        Sees and changes {chosen.length === 0 ? 'everything' : 'what belongs to these groups only'}
      </legend>
      <ListPicker
        label="Confine to a group"
        of={groups}
        chosen={chosen}
        onChange={(ids) => onChange(ids.length === 0 ? null : { groups: [...ids] })}
      />
    </fieldset>
  )
}

function OperatorItem({ item, actions }: ItemProps<Operator>) {
  const { id, name, role, scope, external, created_at, expires_at, last_used_at } = item
  const isExpired = expires_at != null && Date.parse(expires_at) <= Date.now()
  return (
    <li {...useAddress<HTMLLIElement>('operator', id)} class="spread">
      <span>
        <b>
          <a href={href('/operators', { operator: id })}>{name}</a>
        </b>{' '}
        <Badge>{role}</Badge>{' '}
        <small class="muted">
          {scope && <>only {scope.groups.map((group) => groups.of(group)).join(', ')} · </>}
          {external && `${external.subject} of ${external.issuer}, `}since <Time value={created_at} /> ·{' '}
          {expires_at && (
            <>
              {isExpired ? 'expired' : 'expires'} <Time value={expires_at} /> ·{' '}
            </>
          )}
          {last_used_at ? (
            <>
              last used <Time value={last_used_at} />
            </>
          ) : (
            'never used'
          )}{' '}
          · <a href={href('/audit', { actor: id })}>Changes</a>
        </small>
      </span>
      {actions}
    </li>
  )
}

type Targets = Readonly<{ everyone?: true; groups?: readonly number[]; users?: readonly number[] }>

const POLICY_FIELDS = fieldsOf('PolicyInput', {
  priority: { hint: '-1000 to 1000. Policies with a higher priority come first.' },
  visibility: { label: 'Users see what the rules look for', type: 'check' },
  applies_to: { render: (value, set) => <TargetFields targets={value as Targets} onChange={set} /> },
})

const NEW_POLICY = { priority: 0, is_enabled: true, visibility: 'name', applies_to: { everyone: true } }

export const PolicyPages = createResourcePages<Policy>({
  path: 'policies',
  title: 'Policies',
  noun: 'policy',
  writer: 'editor',
  created: POLICY_FIELDS,
  initial: NEW_POLICY,
  edited: POLICY_FIELDS,
  query: { rule_counts: true },
  intro: 'In evaluation order. The rules of policies come before those of users, who cannot change them.',
  empty: "There are no policies. Only users' own rules apply.",
  columns: [
    {
      title: 'Policy',
      value: ({ name }) => name,
      cell: ({ id, name, is_enabled, description }) => (
        <>
          <a href={href(`/policies/${id}`)}>{name}</a> {!is_enabled && <Badge>disabled</Badge>}
          {description && <small class="muted block">{description}</small>}
        </>
      ),
    },
    { title: 'Applies to', value: ({ applies_to }) => describeTargets(applies_to as Targets) },
    { title: 'Priority', kind: 'number', value: ({ priority }) => priority },
    { title: 'Firewall', kind: 'number', value: ({ firewall_rules }) => firewall_rules, total: 'sum' },
    { title: 'Routing', kind: 'number', value: ({ routing_rules }) => routing_rules, total: 'sum' },
    { title: 'Tools', kind: 'number', value: ({ tool_rules }) => tool_rules, total: 'sum' },
  ],
  rowClass: ({ is_enabled }) => (is_enabled ? '' : 'off'),
  summary: ({ applies_to, priority, is_enabled }) => (
    <>
      applies to {describeTargets(applies_to as Targets)} · priority {priority}{' '}
      {!is_enabled && <Badge tone="warn">disabled</Badge>} ·
    </>
  ),
  panels: (policy, path) => (
    <>
      {policy.description && <p class="muted">{policy.description}</p>}
      <RuleEditor path={path} canEdit={hasRole('editor')} policy={policy} />
    </>
  ),
  warning: 'Its rules stop to apply. A deleted policy cannot be restored; its history stays.',
})

function describeTargets({ everyone, groups: inGroups = [], users: named = [] }: Targets): string {
  if (everyone) return 'everyone'
  return [...inGroups.map((id) => groups.of(id)), ...named.map((id) => users.of(id))].join(', ')
}

function TargetFields({ targets, onChange }: { targets: Targets; onChange: (targets: Targets) => void }) {
  const { everyone, groups: inGroups = [], users: named = [] } = targets
  return (
    <fieldset class="choices">
      <legend>Applies to</legend>
      <CheckField
        label="Everyone"
        checked={everyone === true}
        onChange={(all) => onChange(all ? { everyone: true } : { groups: [], users: [] })}
      />
      {!everyone && (
        <>
          <ListPicker
            label="Add a group"
            of={groups}
            chosen={inGroups}
            onChange={(chosen) => onChange({ groups: chosen, users: named })}
          />
          <ListPicker
            label="Add a user"
            of={users}
            chosen={named}
            onChange={(chosen) => onChange({ groups: inGroups, users: chosen })}
          />
        </>
      )}
    </fieldset>
  )
}

import { type Answer, AS_ADMIN, type RunningGateway } from './gateway.ts'

/** Calls an endpoint as the operator with the admin key. */
export function asAdmin(
  gateway: RunningGateway,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return gateway.call(method, path, body, { ...AS_ADMIN, ...headers })
}

const RULE = { name: 'A rule', is_enabled: true, priority: 0 }

/** A firewall rule that blocks "secret"; what is given differs. */
export const firewallRule = (more: object = {}) => ({
  ...RULE,
  scope: 'prompt',
  type: 'substring',
  pattern: 'secret',
  action: 'block',
  ...more,
})

/** A routing rule that matches everything. */
export const routingRule = (action_json: object, more: object = {}) => ({
  ...RULE,
  match_json: {},
  action_json,
  ...more,
})

export interface NewPolicy {
  readonly firewall?: readonly object[]
  readonly routing?: readonly object[]
  readonly tool?: readonly object[]
  readonly [field: string]: unknown
}

/** Creates a policy for everyone with these rules; returns it with the ids of its rules. */
export async function newPolicy(
  gateway: RunningGateway,
  { firewall = [], routing = [], tool = [], ...fields }: NewPolicy,
) {
  const body = { name: 'A policy', is_enabled: true, priority: 0, applies_to: { everyone: true }, ...fields }
  const created = await asAdmin(gateway, 'POST', '/admin/policies', body)
  if (created.status !== 201) throw new Error(JSON.stringify(created.body))
  const { id } = created.body.data
  const path = `/admin/policies/${id}`
  const operations = [
    ...firewall.map((data) => ({ kind: 'firewall', op: 'create', data })),
    ...routing.map((data) => ({ kind: 'routing', op: 'create', data })),
    ...tool.map((data) => ({ kind: 'tool', op: 'create', data })),
  ]
  const batch =
    operations.length > 0 ? await asAdmin(gateway, 'POST', `${path}/rules/batch`, { operations }) : undefined
  if (batch !== undefined && batch.status !== 200) throw new Error(JSON.stringify(batch.body))
  const ruleIds: number[] = batch?.body.data.map((rule: { id: number }) => rule.id) ?? []
  return { id: id as number, path, ruleIds, name: body.name, remove: () => asAdmin(gateway, 'DELETE', path) }
}

import { describeResource } from '../support/describe-resource.ts'
import { AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import type { Random } from '../support/random.ts'
import { randomToolRule } from '../support/random-rules.ts'

const NAMES = ['Support', 'Legal', 'Ärzte', 'R&D']

describeResource({
  name: 'group',
  path: '/admin/groups',
  create: (random) => ({
    name: random.pick(NAMES),
    ...(random.chance(0.5) && { description: random.pick(['x', null]) }),
  }),
  change: (random) =>
    random.pick([
      { name: random.pick(NAMES) },
      { description: random.pick(['x', 'y', null]) },
      { name: random.pick(NAMES), description: random.pick(['x', 'y', null]) },
    ]),
  invalid: [{ name: '' }, { name: 7 }, { name: 'x', description: 7 }],
})

const ROLES = ['auditor', 'editor', 'admin']

describeResource({
  name: 'operator',
  path: '/admin/operators',
  create: (random) => ({
    name: random.pick(NAMES),
    role: random.pick(ROLES),
    ...(random.chance(0.5) && { expires_at: '2099-12-31T00:00:00.000000Z' }),
  }),
  change: (random) =>
    random.pick([
      { name: random.pick(NAMES) },
      { role: random.pick(ROLES) },
      { name: random.pick(NAMES), role: random.pick(ROLES) },
    ]),
  invalid: [
    { name: '', role: 'auditor' },
    { name: 'x', role: 'root' },
    { name: 'x', role: 'admin', scope: { groups: [999_999] } },
    { name: 'x', role: 'admin', expires_at: '2020-01-01T00:00:00Z' },
  ],
  shownOnce: ['key'],
  listed: ['last_used_at'],
})

const SCOPES = [{ everyone: true }, { groups: [], users: [1] }]

describeResource({
  name: 'policy',
  path: '/admin/policies',
  create: (random) => ({
    name: random.pick(NAMES),
    is_enabled: random.chance(0.5),
    priority: random.integer(3),
    applies_to: random.pick(SCOPES),
    ...(random.chance(0.5) && { description: 'x', visibility: 'full' }),
  }),
  change: (random) =>
    random.pick([
      { priority: random.integer(3) },
      { is_enabled: random.chance(0.5), applies_to: random.pick(SCOPES) },
      { visibility: random.pick(['name', 'full']), description: random.pick(['x', null]) },
    ]),
  invalid: [
    { name: 'x', is_enabled: true, priority: 1001, applies_to: { everyone: true } },
    { name: 'x', is_enabled: true, priority: 0, applies_to: { groups: [999_999] } },
    { name: 'x', is_enabled: true, priority: 0, applies_to: {} },
  ],
})

const HOST = 'https://mcp.example.com'
const AUTHS = [
  { type: 'none' },
  { type: 'passthrough' },
  { type: 'bearer', secret_ref: 'env:MCP_TOKEN' },
  { type: 'header', header: 'x-api-key', secret_ref: 'env:MCP_TOKEN' },
]

let toolServers = 0

describeResource({
  name: 'tool_server',
  path: '/admin/tool-servers',
  create: (random) => ({
    name: `server-${++toolServers}`,
    url: `${HOST}/${random.integer(3)}`,
    ...(random.chance(0.5) && { auth: random.pick(AUTHS), default: random.pick(['allow', 'deny']) }),
    ...(random.chance(0.5) && { new_tools: 'approved', changed_tools: 'serve_approved' }),
  }),
  change: (random) =>
    random.pick([
      { url: `${HOST}/${random.integer(3)}`, is_enabled: random.chance(0.5) },
      { auth: random.pick(AUTHS), timeout_ms: random.pick([null, 1000]) },
      { changed_tools: random.pick(['block', 'serve_approved']) },
    ]),
  otherFields: { url: `${HOST}/other` },
  invalid: [
    { name: 'a_b', url: HOST },
    { name: '12', url: HOST },
    { name: 'x', url: 'ftp://mcp.example.com' },
    { name: 'x', url: 'https://ada:secret@mcp.example.com' },
    { name: 'x', url: 'http://10.0.0.1' },
    { name: 'x', url: HOST, auth: { type: 'bearer', secret_ref: 'sk-secret' } },
    { name: 'x', url: HOST, auth: { type: 'bearer' } },
  ],
})

const PLANS = ['free', 'paid']

async function addUser(gateway: RunningGateway): Promise<number> {
  const { body } = await gateway.call('POST', '/admin/users', { name: 'Ada', plan: 'paid' }, AS_ADMIN)
  return body.data.id
}

describeResource({
  name: 'user',
  path: '/admin/users',
  create: (random) => ({ name: random.pick(NAMES), plan: random.pick(PLANS) }),
  // A change of anything but the name alone sets all limits.
  change: (random) =>
    random.chance(0.3)
      ? { name: random.pick(NAMES) }
      : {
          plan: random.pick(PLANS),
          requests_per_minute: random.pick([7, null]),
          tokens_per_minute: random.pick([1000, null]),
          max_concurrent: random.pick([4, null]),
          tool_calls_per_minute: random.pick([9, null]),
        },
  invalid: [
    { name: '', plan: 'free' },
    { name: 'x', plan: 'gold' },
    { name: 'x', plan: 'free', max_concurrent: 0 },
  ],
})

describeResource({
  name: 'key',
  path: '/admin/keys',
  listPath: '/admin/users/{parent}/keys',
  addParent: addUser,
  create: (random) => ({
    name: random.pick(NAMES),
    ...(random.chance(0.5) && { models: ['gpt-4o'] }),
    ...(random.chance(0.5) && {
      endpoints: ['/v1/chat/completions'],
      expires_at: '2099-12-31T00:00:00.000000Z',
    }),
  }),
  changedByDeletion: ['revoked_at'],
  invalid: [{ name: '' }, { models: [] }, { models: ['unknown'] }, { expires_at: '2020-01-01T00:00:00Z' }],
  shownOnce: ['key'],
  listed: ['last_used_at'],
})

const CONDITIONS = [{}, { contains: ['secret'] }, { mode: 'cost' }, { task: 'summary' }]
const ACTIONS = [{ set_mode: 'quality' }, { set_provider: 'openai' }, { add_warning: { message: 'x' } }]

const createRoutingRule = (random: Random) => ({
  name: random.pick(NAMES),
  is_enabled: random.chance(0.5),
  priority: random.integer(3),
  match_json: random.pick(CONDITIONS),
  action_json: random.pick(ACTIONS),
})

const createFirewallRule = (random: Random) => ({
  name: random.pick(NAMES),
  is_enabled: random.chance(0.5),
  scope: 'prompt',
  type: random.pick(['substring', 'regex']),
  pattern: random.pick(['secret', 'a+b', 'x{2}']),
  action: random.pick(['block', 'mask', 'warn']),
  replacement: random.pick(['***', null]),
  priority: random.integer(3),
})

const RULES = [
  {
    name: 'routing',
    create: createRoutingRule,
    invalid: [{ name: '' }, { priority: 1001 }, { match_json: { contians: 'x' } }, { action_json: 7 }],
    invalidStatus: 422,
  },
  {
    name: 'firewall',
    create: createFirewallRule,
    invalid: [{ name: '' }, { priority: -1001 }, { pattern: '' }, { action: 'allow' }],
  },
  {
    name: 'tool',
    create: randomToolRule,
    invalid: [{ name: '' }, { action: 'mask' }, { match: { tol: 'x' } }, { match: { tool: '' } }],
  },
]

async function addPolicy(gateway: RunningGateway): Promise<number> {
  const policy = { name: 'Everyone', is_enabled: true, priority: 0, applies_to: { everyone: true } }
  const { body } = await gateway.call('POST', '/admin/policies', policy, AS_ADMIN)
  return body.data.id
}

const SCOPES_OF_RULES = [
  { path: '/v1', caller: { type: 'key', headers: {} } },
  { path: '/admin/users/{parent}', addParent: addUser },
  { path: '/admin/policies/{parent}', addParent: addPolicy },
]

for (const rules of RULES)
  for (const { path, ...scope } of SCOPES_OF_RULES)
    describeResource({
      ...rules,
      ...scope,
      path: `${path}/${rules.name}-rules`,
      change(random) {
        const { name, priority, is_enabled } = rules.create(random)
        return random.pick([{ name }, { priority, is_enabled }, rules.create(random)])
      },
      countsAllChanges: true,
      listsThePast: true,
    })

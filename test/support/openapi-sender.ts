import { randomUUID } from 'node:crypto'
import { setBudget } from './budgets.ts'
import { buildConsole } from './console.ts'
import { ADMIN_KEY, type Answer, AS_ADMIN, type RunningGateway } from './gateway.ts'
import { newUser } from './new-user.ts'
import type { Described, Loose } from './openapi.ts'
import { newOperator } from './operators.ts'
import { readResponse } from './read-response.ts'
import { type SentRequest, sendRequest, type TextResponse } from './send-request.ts'

const RULE = { name: 'A rule', is_enabled: true, priority: 0 }

/** A rule of each kind that does nothing. */
export const NEW_RULES: Readonly<Record<string, object>> = {
  routing: { ...RULE, match_json: {}, action_json: {} },
  firewall: { ...RULE, scope: 'prompt', type: 'substring', pattern: 'nothing of this', action: 'warn' },
  tool: { ...RULE, match: { tool: 'nothing' }, action: 'warn' },
}

/** Somebody who sends requests as the document describes them. */
export async function createSender(gateway: RunningGateway, plan = 'paid') {
  const user = await newUser(gateway)
  const { key } = await user.issueKey()
  /** `filled`: a path whose rules are those of the caller, of another user, or of a policy. */
  const newRule = async (kind: string, filled: string) => {
    const [owner] = /^\/admin\/(policies|users)\/\d+/.exec(filled) ?? []
    const headers: Record<string, string> = owner === undefined ? {} : AS_ADMIN
    const path = `${owner ?? '/v1'}/${kind}-rules`
    return (await user.call('POST', path, NEW_RULES[kind], headers)).body.data.id
  }
  const newPolicy = async () => {
    const policy = { name: 'A policy', is_enabled: false, priority: 0, applies_to: { everyone: true } }
    return (await gateway.call('POST', '/admin/policies', policy, AS_ADMIN)).body.data.id
  }
  const newGroup = async () =>
    (await gateway.call('POST', '/admin/groups', { name: 'A group' }, AS_ADMIN)).body.data.id
  const newToolServer = async () => {
    const server = { name: `server-${randomUUID()}`, url: 'https://mcp.example.com' }
    return (await gateway.call('POST', '/admin/tool-servers', server, AS_ADMIN)).body.data.id
  }
  const newResponse = async () =>
    (await user.call('POST', '/v1/responses', { input: 'Hello', user: 'somebody' })).body

  /** Of the user, or of the first user of the gateway, who is in examples. */
  const newSession = async (ofKey: string) => {
    const id = randomUUID()
    const headers = { authorization: `Bearer ${ofKey}`, 'x-session-id': id }
    await gateway.call('POST', '/v1/responses', { input: 'Hello' }, headers)
    return id
  }

  /** An id of the user's own for a place where the document has one as an example. */
  async function idFor(place: string, name: string, filled: string): Promise<string | number> {
    if (name === 'policy_id' || place.startsWith('/admin/policies/{id}')) return newPolicy()
    if (name === 'user_id') return (await newUser(gateway)).id
    if (place.includes('/routing-rules/{id}')) return newRule('routing', filled)
    if (place.includes('/firewall-rules/{id}')) return newRule('firewall', filled)
    if (place.includes('/tool-rules/{id}')) return newRule('tool', filled)
    if (place.startsWith('/v1/responses')) return (await newResponse()).id
    if (/^\/(v1|admin)\/requests/.test(place)) return (await newResponse()).x_request_id
    if (place.includes('/sessions/')) return newSession(place.startsWith('/v1') ? key : gateway.demoKey)
    // The first event of the log, which a checkpoint must cover.
    if (place.startsWith('/admin/audit')) return 1
    if (place.startsWith('/admin/keys')) return (await user.issueKey()).id
    if (place.startsWith('/admin/operators')) return (await newOperator(gateway, 'auditor')).id
    if (place.startsWith('/admin/users')) return (await newUser(gateway)).id
    if (place.startsWith('/admin/groups')) return newGroup()
    if (place.startsWith('/admin/tool-servers')) return name === 'tool' ? 'unknown' : newToolServer()
    if (place.startsWith('/admin/alerts')) return 'provider_down'
    if (place.startsWith('/admin/providers')) return 'openai'
    if (place.startsWith('/console/assets')) return findConsoleFile(gateway)
    // No tool is called here: see approvals.test.ts and tool-calls.test.ts.
    if (place.includes('/tool-calls/')) return `req_${'0'.repeat(24)}`
    if (place.includes('/approvals/')) return `apr_${'0'.repeat(24)}`
    // No tool server is known here: see mcp.test.ts.
    if (place.startsWith('/mcp')) return 'unknown'
    // No router is trained here: see router-training.test.ts.
    if (place.startsWith('/admin/routers')) return 1
    throw new Error(`no id is known for ${place}`)
  }

  /** The path with ids that exist, and what it names. */
  async function fill({ method, path: place, parameters }: Described): Promise<string> {
    let filled = place
    for (const { name, example } of parameters.filter((parameter) => parameter.in === 'path')) {
      const id = place.startsWith('/v1/models') ? example : await idFor(place, name, filled)
      filled = filled.replace(`{${name}}`, encodeURIComponent(id))
    }
    if (method === 'GET' && /^\/admin\/.*budget(\/shadow)?$/.test(filled))
      await setBudget(gateway, filled, { limit_usd: 10 })
    return filled
  }

  /** An example with ids that exist. */
  async function own(example: Loose, filled: string): Promise<Loose> {
    // No two have the same name.
    if (filled.startsWith('/admin/tool-servers') && example.name !== undefined)
      return { ...example, name: `server-${randomUUID()}` }
    if (example.previous_response_id !== undefined)
      return { ...example, previous_response_id: (await newResponse()).id }
    if (example.request_id !== undefined)
      return { ...example, request_id: (await newResponse()).x_request_id }
    // A subject is linked to one user.
    if (example.subject !== undefined) return { ...example, subject: filled }
    if (example.operations === undefined) return example
    const operations = example.operations.map(async (operation: Loose) =>
      operation.id === undefined ? operation : { ...operation, id: await newRule(operation.kind, filled) },
    )
    return { ...example, operations: await Promise.all(operations) }
  }

  async function send(
    { method, operation, path: place }: Described,
    filled: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    // Root has no key to rotate.
    const adminKey = filled.endsWith('/self/rotate') ? (await newOperator(gateway, 'auditor')).key : ADMIN_KEY
    const bearer = { apiKey: key, adminKey }[Object.keys(operation.security[0] ?? {})[0] ?? '']
    const url = (place === '/route' ? gateway.routeUrl : gateway.url) + filled
    const request = {
      method,
      headers: {
        ...(bearer && { authorization: `Bearer ${bearer}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }
    // This stream has no end.
    const sent = await (place === '/admin/live' ? fetchFirstPart : sendRequest)(url, request)
    const { status, headers: received, text } = sent
    const isJson = received.get('content-type')?.startsWith('application/json')
    return { status, headers: received, body: isJson ? JSON.parse(text) : text }
  }

  if (plan !== 'paid') await user.setPlan(plan)
  return { fill, own, send }
}

async function fetchFirstPart(url: string, { method, headers, body }: SentRequest): Promise<TextResponse> {
  const response = await fetch(url, {
    method,
    ...(headers && { headers }),
    ...(body !== undefined && { body }),
  })
  return { status: response.status, headers: response.headers, text: await readResponse(response) }
}

/** A file that the page of the console refers to. */
async function findConsoleFile(gateway: RunningGateway): Promise<string> {
  await buildConsole()
  const html = await (await fetch(`${gateway.url}/console/`)).text()
  return html.match(/assets\/([\w-]+\.js)/)?.[1] ?? ''
}

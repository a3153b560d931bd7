import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import type { Answer, RunningGateway } from '../support/gateway.ts'
import { atUrl, startToolGateway } from '../support/mcp/gateway.ts'
import { callToolRaw } from '../support/mcp/raw-call.ts'
import { startHttp, type TestServer } from '../support/mcp/servers.ts'
import { newUser, type TestUser } from '../support/new-user.ts'

const LIMITS = 'mcp: { limits: { call_timeout_ms: 300, max_call_ms: 1000 } }\n'
const TOOL = { name: 'tool', inputSchema: { type: 'object' } }
const INITIALIZED = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: {} }

/** Sends a byte of a text now and then, and more of its last byte for ever. */
function drip(response: ServerResponse, text: string): void {
  let sent = 0
  const timer = setInterval(() => {
    response.write(text[Math.min(sent++, text.length - 1)])
  }, 20)
  response.once('close', () => clearInterval(timer))
}

function open(response: ServerResponse, type = 'application/json'): void {
  response.writeHead(200, { 'content-type': type }).flushHeaders()
}

type Attack = (response: ServerResponse, id: string) => void

const NOTICE =
  'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}\n\n'

/** What a server does with a request instead of answering it. */
const ATTACKS: Readonly<Record<string, Attack>> = {
  'never answers': () => undefined,
  'sends the head of a response only': (response) => open(response),
  'sends a byte of its message now and then': (response, id) => {
    open(response)
    drip(response, `{"jsonrpc":"2.0","id":"${id}",${' '.repeat(1000)}`)
  },
  'sends a byte of its result now and then': (response, id) => {
    open(response)
    response.write(`{"jsonrpc":"2.0","id":"${id}","result":{"content":[],"x":"`)
    drip(response, 'x')
  },
  'sends a byte of an event now and then': (response) => {
    open(response, 'text/event-stream')
    drip(response, ': x')
  },
  'sends notices without an end': (response) => {
    open(response, 'text/event-stream')
    const write = () => {
      while (!response.destroyed && response.write(NOTICE.repeat(100)));
    }
    response.on('drain', write)
    write()
  },
}

/** The methods that servers attack. */
const PLACES = {
  discovery: ['server/discover', 'initialize'],
  session: ['initialize'],
  list: ['tools/list'],
  call: ['tools/call'],
}

describe('a tool server that is slow on purpose', () => {
  let gateway: RunningGateway
  let user: TestUser
  const servers: TestServer[] = []

  before(async () => {
    /** `attacked`: the methods that it does not answer. */
    const start = async (attacked: readonly string[], attack: Attack, hasSessions: boolean) => {
      const server = await startHttp((_, response, body) => {
        const { id, method } = body === '' ? { id: undefined, method: 'GET' } : JSON.parse(body)
        if (attacked.includes(method)) return attack(response, id)
        if (id === undefined) return response.writeHead(method === 'GET' ? 405 : 202).end()
        if (method === 'server/discover' && hasSessions) return response.writeHead(400).end()
        const result =
          method === 'server/discover'
            ? { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
            : method === 'initialize'
              ? INITIALIZED
              : { resultType: 'complete', tools: [TOOL], content: [] }
        open(response)
        response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
      })
      servers.push(server)
      return server.url
    }
    const listed = Object.values(ATTACKS).flatMap((attack, index) =>
      Object.entries(PLACES).map(async ([place, methods]) =>
        atUrl(`${place}-${index}`, await start(methods, attack, place === 'session')),
      ),
    )
    gateway = await startToolGateway(await Promise.all(listed), LIMITS)
  })
  beforeEach(async () => {
    user = await newUser(gateway)
  })
  after(async () => {
    await gateway.stop()
    await Promise.all(servers.map((server) => server.stop()))
  })

  const call = (server: string) => callToolRaw(gateway, user.key, { server, tool: 'tool' })
  const codeOf = ({ body }: Answer) => body.error?.data?.code

  for (const [index, name] of Object.keys(ATTACKS).entries())
    for (const place of Object.keys(PLACES))
      it(`that ${name} ends by the limits: ${place}`, async () => {
        const server = `${place}-${index}`
        // A result that has begun to arrive breaks off.
        const code = await call(server).then(codeOf, () => 'broken off')
        expect(code).to.be.oneOf(['tool_call_timeout', 'tool_server_unavailable', 'broken off'])
      })
})

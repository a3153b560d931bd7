import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { firewallRuleBody } from '../support/bodies.ts'
import { type EventStore, startEventStore } from '../support/eventstore/server.ts'
import { makeFolder } from '../support/folders.ts'
import { type Answer, AS_ADMIN, type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { patternsOf } from '../support/rule-patterns.ts'

const RULES = '/v1/firewall-rules'
const rule = (pattern: string) => firewallRuleBody({ name: pattern, pattern, action: 'warn' })
const withKey = (key: string, headers = {}) => ({ ...headers, 'idempotency-key': key })

/** What both answers must have in common. */
const contentOf = ({ status, headers, body }: Answer) => ({ status, etag: headers.get('etag'), body })

const isReplay = ({ headers }: Answer) => headers.get('idempotent-replayed') === 'true'

for (const kind of ['the embedded log', 'EventStoreDB'] as const) {
  describe(`Idempotency-Key on ${kind}`, () => {
    let server: EventStore | undefined
    let environment: Record<string, string>
    let gateway: RunningGateway

    before(async () => {
      if (kind === 'EventStoreDB') server = await startEventStore()
      environment = server ? { EVENTSTORE_URL: server.connectionString } : {}
      gateway = await startGatewayOnFiles(environment)
    })
    after(async () => {
      await gateway.stop()
      await server?.stop()
    })

    const patterns = () => patternsOf(gateway)

    it('makes a rule once, however often the request is repeated', async () => {
      const key = randomUUID()
      const first = await gateway.call('POST', RULES, rule('once'), withKey(key))
      expect([first.status, isReplay(first)]).to.deep.equal([201, false])
      await gateway.call('PATCH', `${RULES}/${first.body.data.id}`, { pattern: 'changed later' })
      await gateway.call('DELETE', `${RULES}/${first.body.data.id}`)
      const second = await gateway.call('POST', RULES, rule('once'), withKey(key))

      expect(isReplay(second)).to.equal(true)
      expect(contentOf(second)).to.deep.equal(contentOf(first))
      expect(await patterns()).not.to.include('once')
    })

    it('makes a rule once for requests at the same time', async () => {
      const key = randomUUID()
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => gateway.call('POST', RULES, rule('together'), withKey(key))),
      )

      expect(new Set(answers.map(({ body }) => body.data?.id)).size).to.equal(1)
      expect(answers.filter((answer) => !isReplay(answer))).to.have.length(1)
      expect((await patterns()).filter((pattern) => pattern === 'together')).to.have.length(1)
    })

    it('repeats the answer to a batch, with its warnings and in order', async () => {
      const { body } = await gateway.call('POST', RULES, rule('to be deleted'))
      const operations = [
        { kind: 'firewall', op: 'create', data: { ...rule('first'), scope: 'response' } },
        { kind: 'firewall', op: 'delete', id: body.data.id },
        {
          kind: 'routing',
          op: 'create',
          data: { name: 'second', priority: 1, is_enabled: true, match_json: {}, action_json: {} },
        },
      ]
      const key = randomUUID()
      const send = () => gateway.call('POST', '/v1/rules/batch', { operations }, withKey(key))
      const first = await send()
      expect(first.status, JSON.stringify(first.body)).to.equal(200)
      const second = await send()

      expect(isReplay(second)).to.equal(true)
      expect(contentOf(second)).to.deep.equal(contentOf(first))
    })

    it('reverts a rule once', async () => {
      const { body } = await gateway.call('POST', RULES, rule('before'))
      const path = `${RULES}/${body.data.id}`
      await gateway.call('PATCH', path, { pattern: 'after' })
      const revert = (key: string) => gateway.call('POST', `${path}/revert`, { revision: 1 }, withKey(key))
      const key = randomUUID()
      const first = await revert(key)
      expect(first.status, JSON.stringify(first.body)).to.equal(200)

      expect(contentOf(await revert(key))).to.deep.equal(contentOf(first))
      expect((await gateway.call('GET', path)).headers.get('etag')).to.equal('"3"')
    })

    it('creates a user once, and issues the same key, which is not in the log', async () => {
      const [userKey, keyKey] = [randomUUID(), randomUUID()]
      const create = () =>
        gateway.call('POST', '/admin/users', { name: 'Ada', plan: 'paid' }, withKey(userKey, AS_ADMIN))
      const first = await create()
      await gateway.call('PATCH', `/admin/users/${first.body.data.id}`, { plan: 'free' }, AS_ADMIN)
      expect(contentOf(await create())).to.deep.equal(contentOf(first))

      const path = `/admin/users/${first.body.data.id}/keys`
      const issue = () => gateway.call('POST', path, undefined, withKey(keyKey, AS_ADMIN))
      const issued = await issue()
      expect(issued.body.data.key).to.match(/^tr_[0-9A-Za-z]{43}$/)
      const repeated = await issue()
      expect(isReplay(repeated)).to.equal(true)
      expect(contentOf(repeated)).to.deep.equal(contentOf(issued))
      const other = await gateway.call('POST', path, undefined, withKey(randomUUID(), AS_ADMIN))
      expect(other.body.data.key).not.to.equal(issued.body.data.key)
      const user = { authorization: `Bearer ${issued.body.data.key}` }
      expect((await gateway.call('GET', '/v1/models', undefined, user)).status).to.equal(200)
    })

    it('refuses the key for another request, and the key of nobody else', async () => {
      const key = randomUUID()
      await gateway.call('POST', RULES, rule('mine'), withKey(key))
      const other = await gateway.call('POST', RULES, rule('something else'), withKey(key))
      expect(other.status).to.equal(422)
      expect(other.headers.get('x-error-code')).to.equal('idempotency_key_reused')
      expect(other.body.error.message).to.contain('used for another request')

      const user = await newUser(gateway)
      const theirs = await user.call('POST', RULES, rule('theirs'), withKey(key))
      expect([theirs.status, isReplay(theirs)]).to.deep.equal([201, false])
    })

    it('refuses a malformed key, and remembers no request that was refused', async () => {
      for (const key of ['two words', 'x'.repeat(256)]) {
        const { status, body } = await gateway.call('POST', RULES, rule('malformed'), withKey(key))
        expect(status).to.equal(400)
        expect(body.error.message).to.contain('Idempotency-Key must have 1 to 255')
      }
      const key = randomUUID()
      expect((await gateway.call('POST', RULES, { name: 'x' }, withKey(key))).status).to.equal(400)
      expect((await gateway.call('POST', RULES, rule('corrected'), withKey(key))).status).to.equal(201)
    })

    it('holds after a restart and on another node', async () => {
      const key = randomUUID()
      const first = await gateway.call('POST', RULES, rule('restarted'), withKey(key))
      const { dataDir, demoKey } = gateway
      await gateway.stop()
      gateway = await startGatewayOnFiles(environment, { dataDir, demoKey })
      const other = await startGatewayOnFiles(environment, {
        dataDir: server ? await makeFolder() : dataDir,
        demoKey,
      })

      for (const node of [gateway, other]) {
        const repeated = await node.call('POST', RULES, rule('restarted'), withKey(key))
        expect(isReplay(repeated)).to.equal(true)
        expect(contentOf(repeated)).to.deep.equal(contentOf(first))
      }
      await other.stop()
    })

    it('answers each of many changes of one rule with its own content and ETag', async () => {
      const { body } = await gateway.call('POST', RULES, rule('many'))
      const path = `${RULES}/${body.data.id}`
      const changes = Array.from({ length: 40 }, (_, n) => `pattern ${n}`)
      const answers = await Promise.all(changes.map((pattern) => gateway.call('PATCH', path, { pattern })))

      expect(answers.map(({ body }) => body.data.pattern)).to.deep.equal(changes)
      expect(new Set(answers.map(({ headers }) => headers.get('etag'))).size).to.equal(40)
    })
  })
}

import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { AS_ADMIN } from '../support/gateway.ts'
import { startGatewayProcess } from '../support/gateway-process.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { connectToEach } from '../support/workers.ts'

describe('operators of a gateway with workers', () => {
  it('watch and evaluate the requests of all of them on any of them', async () => {
    const gateway = await startGatewayProcess({
      ...(await withSettings(`${UNLIMITED}ledger: { record_prompts: full }\n`)),
      ...{ WORKERS: '2', LOG_LEVEL: 'debug', RECORD_KEY: randomBytes(32).toString('hex') },
    })
    const workers = await connectToEach(gateway, 2)
    const watching = await fetch(`${gateway.url}/admin/live`, { headers: AS_ADMIN })
    const reader = watching.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = (await reader.read()).value ?? ''
    const ids = new Set<string | null>()
    for (const connection of workers.values()) {
      const { headers } = await connection.call('POST', '/v1/chat/completions', chatBody('hello'))
      ids.add(headers.get('x-request-id'))
    }
    const seen = () => new Set([...text.matchAll(/"x_request_id":"(req_\w+)"/g)].map(([, id]) => id))
    while (seen().size < ids.size) text += (await reader.read()).value ?? expect.fail('the stream ended')
    expect(seen()).to.deep.equal(ids)
    await reader.cancel()

    for (const connection of workers.values()) {
      const { body } = await connection.call('POST', '/admin/what-if', { file: {} }, AS_ADMIN)
      expect(body.data, JSON.stringify(body)).to.include({ requests: 2, evaluated: 2 })
      const { data } = (await connection.call('GET', '/admin/overview?range=1h', undefined, AS_ADMIN)).body
      expect(data.totals.requests).to.equal(2)
      connection.close()
    }
    expect(await gateway.stop()).to.equal(0)
  })
})

import { expect } from 'chai'
import { endpoint, publicAccess } from '../../../../core/contract/index.ts'
import { composeEndpoint } from '../../../../core/http/endpoints.ts'

describe('an endpoint with a long list', () => {
  let encoded = 0
  const item = { toJSON: () => (encoded += 1) }
  const list = endpoint({
    ...{ method: 'GET', path: '/list', access: publicAccess, operationId: 'readList', summary: 'A list.' },
    ...{ tags: [], responses: { 200: { description: 'The list.' } } },
    handle: () => ({ status: 200, headers: { etag: '"1"' }, body: { data: Array(200).fill(item) } }),
  })
  const services = {
    admission: [],
    readBody: async () => undefined,
    readRawBody: async () => Buffer.alloc(0),
    authenticateOperator: () => expect.fail('the endpoint is public'),
    recordRead: async () => undefined,
    findKnownRequest: () => undefined,
    hasMutableBodies: false,
  }

  async function read(headers: Readonly<Record<string, string>>) {
    encoded = 0
    const context = {
      ...{
        method: 'GET',
        path: '/list',
        querystring: '',
        params: {},
        headers,
        type: '',
        set: () => undefined,
      },
      ...{ status: 0, body: undefined as unknown, request: {}, response: {}, req: { headers } },
    }
    await composeEndpoint(list, services)(context as never, async () => undefined)
    return { status: context.status, hasBody: Boolean(context.body), encoded }
  }

  it('is encoded once', async () => {
    expect(await read({})).to.deep.equal({ status: 200, hasBody: true, encoded: 200 })
  })

  it('is not encoded for a client that has it', async () => {
    expect(await read({ 'if-none-match': '"1"' })).to.deep.equal({ status: 304, hasBody: false, encoded: 0 })
  })
})

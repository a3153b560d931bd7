import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { decodeProtectedHeader, type FlattenedJWSInput } from 'jose'
import { pino } from 'pino'
import { createIssuerKeys, jwksUriOf } from '../../../../plugins/identity/issuer-keys.ts'
import {
  createSigningKey,
  type IdentityProvider,
  type SigningKey,
  startIdentityProvider,
} from '../../../support/identity-provider.ts'

const MINUTE = 60_000
const DAY = 86_400_000

describe('keys of an issuer', () => {
  let provider: IdentityProvider
  let now = 0
  const down = (res: ServerResponse) => void res.writeHead(500).end()

  beforeEach(async () => {
    provider = await startIdentityProvider()
  })
  afterEach(() => provider.stop())

  const open = () => {
    const { issuer } = provider
    const { signal } = new AbortController()
    const logger = pino({ enabled: false })
    const keys = createIssuerKeys({ issuer, jwksUri: undefined, logger, signal, now: () => now })
    const find = async (key?: SigningKey) => {
      const [header = '', payload = '', signature = ''] = (await provider.sign({}, key)).split('.')
      const jws: FlattenedJWSInput = { protected: header, payload, signature }
      const { alg = '', ...others } = decodeProtectedHeader({ ...jws })
      return keys.find(undefined, { ...others, alg }, jws)
    }
    return { keys, find, codeOf: (key?: SigningKey) => find(key).catch(({ code }: { code: string }) => code) }
  }

  it('serve for a day while they cannot be fetched, and again when they can', async () => {
    const { keys, find, codeOf } = open()
    await find()
    const known = keys.current()
    provider.publish(down)
    now += DAY - 1
    expect((await find()).keySet).to.equal(known)
    now += MINUTE
    const both = await Promise.all([codeOf(), codeOf()])
    expect(both).to.deep.equal(['identity_unavailable', 'identity_unavailable'])
    expect(keys.current()).to.equal(undefined)
    provider.publish([await createSigningKey('second')])
    now += MINUTE
    expect(await codeOf()).to.equal('ERR_JWKS_NO_MATCHING_KEY')
  })

  it('are waited for by all tokens that arrive once they are a day old', async () => {
    const { find } = open()
    await find()
    now += DAY
    const found = await Promise.all([find(), find(), find()])
    expect(new Set(found.map(({ keySet }) => keySet)).size).to.equal(1)
    expect(provider.fetches()).to.equal(2)
  })

  it('are the same until the issuer publishes other ones', async () => {
    const { keys, find } = open()
    const first = (await find()).keySet
    const refresh = async () => {
      now += 10 * MINUTE
      const before = provider.fetches()
      keys.current()
      // Waits for the fetch, because the key is unknown.
      await find(await createSigningKey('unknown')).catch(() => undefined)
      expect(provider.fetches()).to.equal(before + 1)
    }
    await refresh()
    expect(keys.current()).to.equal(first)
    provider.publish([await createSigningKey('second')])
    await refresh()
    expect(keys.current()).not.to.equal(first)
  })

  it('come by TLS if the discovery document does', () => {
    const plain = { issuer: 'https://idp.example.com', jwks_uri: 'http://idp.example.com/keys' }
    expect(() => jwksUriOf(plain)).to.throw('without TLS')
    for (const jwks_uri of ['https://keys.example.com/', 'HTTPS://keys.example.com/'])
      expect(jwksUriOf({ ...plain, jwks_uri })).to.equal(jwks_uri)
    expect(() => jwksUriOf({ ...plain, jwks_uri: 'keys' })).to.throw('no jwks_uri')
  })
})

import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { createSealer } from '../../../../core/secrets/sealer.ts'

function secretOf(bytes: Buffer | undefined) {
  return { read: () => bytes, readOrCreate: () => bytes ?? randomBytes(32) }
}

describe('sealed values', () => {
  const secret = secretOf(randomBytes(32))
  const sealer = createSealer(secret, 'cookies')

  it('are opened by whoever has the secret, for the same purpose and context', () => {
    const sealed = sealer.seal({ name: 'Ada' }, 'session 1')
    expect(createSealer(secret, 'cookies').open(sealed, 'session 1')).to.deep.equal({ name: 'Ada' })
    expect(sealed).to.match(/^[\w-]+$/)
    expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.to.contain('Ada')
    expect(sealer.seal({ name: 'Ada' }, 'session 1')).not.to.equal(sealed)
    expect(sealer.open(sealed, 'session 2')).to.equal(undefined)
    expect(createSealer(secret, 'tokens').open(sealed, 'session 1')).to.equal(undefined)
    expect(createSealer(secretOf(randomBytes(32)), 'cookies').open(sealed, 'session 1')).to.equal(undefined)
    expect(createSealer(secretOf(undefined), 'cookies').open(sealed, 'session 1')).to.equal(undefined)
  })

  it('are not opened with a single bit changed, or cut off', () => {
    const sealed = Buffer.from(sealer.seal({ role: 'auditor' }), 'base64url')
    for (let index = 0; index < sealed.length; index++) {
      const changed = Buffer.from(sealed)
      changed[index] = (changed[index] ?? 0) ^ 1
      expect(sealer.open(changed.toString('base64url')), String(index)).to.equal(undefined)
      expect(sealer.open(sealed.subarray(0, index).toString('base64url'))).to.equal(undefined)
    }
    expect(sealer.open('')).to.equal(undefined)
    expect(sealer.open('no base64!')).to.equal(undefined)
  })
})

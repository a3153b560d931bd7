import { createPrivateKey, createPublicKey } from 'node:crypto'
import { expect } from 'chai'
import {
  formatVerifierKey,
  isSignedBy,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
  rawPublicKey,
  signCheckpoint,
  signNote,
} from '../../../../../core/event-log/transparency/checkpoint.ts'
import { hashLeaf } from '../../../../../core/event-log/transparency/merkle-tree.ts'

/** The example key of Go's `golang.org/x/mod/sumdb/note`, with its note. */
const GO_KEY = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW'
const GO_NOTE =
  'If you think cryptography is the answer to your problem,\n' +
  "then you don't know what your problem is.\n\n" +
  '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n'

/** The Ed25519 key of RFC 8410, 10.3. */
const privateKey = createPrivateKey(
  '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n',
)
const key = { name: 'signalbox/log_1', publicKey: rawPublicKey(createPublicKey(privateKey)) }
const checkpoint = { origin: key.name, size: 1234, root: hashLeaf('root') }

describe('signed notes', () => {
  it('are verified like those of Go', () => {
    const goKey = parseVerifierKey(GO_KEY)
    const note = parseNote(GO_NOTE)
    if (goKey === undefined || note === undefined) throw new Error('not parsed')
    expect(isSignedBy(note, goKey)).to.equal(true)
    expect(formatVerifierKey(goKey)).to.equal(GO_KEY)
  })

  it('are refused after any change of a byte', () => {
    const signed = Buffer.from(signCheckpoint(checkpoint, privateKey))
    const isAccepted = (bytes: Buffer) => {
      const note = parseNote(bytes.toString())
      return note !== undefined && isSignedBy(note, key) && parseCheckpoint(bytes.toString()) !== undefined
    }
    expect(isAccepted(signed)).to.equal(true)
    for (const index of signed.keys()) {
      for (const flip of [1, 2, 4, 8, 16, 32, 64, 128]) {
        const changed = Buffer.from(signed)
        changed[index] = (changed[index] ?? 0) ^ flip
        expect(isAccepted(changed), `byte ${index} of ${changed}`).to.equal(false)
      }
      expect(isAccepted(Buffer.concat([signed.subarray(0, index), signed.subarray(index + 1)]))).to.equal(
        false,
      )
    }
  })

  it('are not of another name or another key', () => {
    const note = parseNote(signNote('text\n', key.name, privateKey))
    if (note === undefined) throw new Error('not parsed')
    expect(isSignedBy(note, { ...key, name: 'signalbox/log_2' })).to.equal(false)
    expect(isSignedBy(note, { ...key, publicKey: Buffer.alloc(32, 7) })).to.equal(false)
  })
})

describe('checkpoints', () => {
  it('have the origin, the size and the root on lines of their own', () => {
    const [origin, size, root, empty, signature] = signCheckpoint(checkpoint, privateKey).split('\n')
    expect([origin, size, root, empty]).to.deep.equal([
      'signalbox/log_1',
      '1234',
      checkpoint.root.toString('base64'),
      '',
    ])
    expect(signature).to.match(/^— signalbox\/log_1 [A-Za-z0-9+/=]{92}$/)
    expect(parseCheckpoint(signCheckpoint(checkpoint, privateKey))).to.deep.include(checkpoint)
  })

  it('may have further lines and signatures', () => {
    const text = `${key.name}\n7\n${checkpoint.root.toString('base64')}\nan extension\n`
    const note = `${signNote(text, key.name, privateKey)}— witness c2lnbmF0dXJl\n`
    const parsed = parseCheckpoint(note)
    expect(parsed?.size).to.equal(7)
    expect(parsed && isSignedBy(parsed.note, key)).to.equal(true)
  })

  it('are refused with sizes and roots in another form', () => {
    const root = checkpoint.root.toString('base64')
    const parse = (text: string) => parseCheckpoint(signNote(text, 'o', privateKey))
    expect(parse(`o\n7\n${root}\n`)).to.include({ size: 7 })
    for (const text of [`o\n07\n${root}\n`, `o\n-1\n${root}\n`, `\n7\n${root}\n`, 'o\n7\nAAAA\n'])
      expect(parse(text), text).to.equal(undefined)
  })
})

import { stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { parseCheckpoint, signCheckpoint } from '../../../../../core/event-log/transparency/checkpoint.ts'
import { openSigningKey, TrustedKeys, trustKey } from '../../../../../core/event-log/transparency/keys.ts'
import { hashLeaf } from '../../../../../core/event-log/transparency/merkle-tree.ts'
import { makeFolder } from '../../../../support/folders.ts'

const ORIGIN = 'signalbox/log_1'

async function modeOf(...parts: readonly string[]): Promise<string> {
  return ((await stat(path.join(...parts))).mode & 0o777).toString(8)
}

describe('the signing key', () => {
  it('is created once, readable by its owner only, by any number of processes', async () => {
    const folder = path.join(await makeFolder(), 'keys')
    const keys = await Promise.all(Array.from({ length: 5 }, () => openSigningKey(folder, ORIGIN)))
    expect(new Set(keys.map(({ publicKey }) => publicKey.toString('hex'))).size).to.equal(1)
    expect(await modeOf(folder)).to.equal('700')
    expect(await modeOf(folder, 'checkpoints.pem')).to.equal('600')
  })

  it('is refused if the file holds something else, without showing it', async () => {
    const folder = await makeFolder()
    await writeFile(path.join(folder, 'checkpoints.pem'), 'a secret')
    const error = await openSigningKey(folder, ORIGIN).catch((error: Error) => error)
    expect(error).to.be.an('error').with.property('message').that.contains('is not an Ed25519 key in PEM')
    expect(String(error)).not.to.contain('a secret')
  })

  it('is trusted beside the keys of other nodes, and under the names of other logs', async () => {
    const [folder, other] = [await makeFolder(), await makeFolder()]
    const [own, theirs] = [await openSigningKey(folder, ORIGIN), await openSigningKey(other, ORIGIN)]
    await trustKey(folder, own)
    const signedBy = ({ privateKey }: typeof own, origin = ORIGIN) => {
      const checkpoint = parseCheckpoint(
        signCheckpoint({ origin, size: 1, root: hashLeaf('root') }, privateKey),
      )
      if (checkpoint === undefined) throw new Error('not a checkpoint')
      return checkpoint
    }
    const trusted = await TrustedKeys.read(folder)
    expect(trusted.accepts(signedBy(own))).to.equal(true)
    expect(trusted.accepts(signedBy(own, 'signalbox/log_2'))).to.equal(true)
    expect(trusted.accepts(signedBy(theirs))).to.equal(false)
    expect(trusted.with([theirs]).accepts(signedBy(theirs))).to.equal(true)

    await trustKey(folder, theirs)
    expect((await TrustedKeys.read(folder)).accepts(signedBy(theirs))).to.equal(true)
  })
})

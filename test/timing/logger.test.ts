import { closeSync, openSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { LogDestination } from '../../core/threads/log-destination.ts'
import { makeFolder } from '../support/folders.ts'
import { waitUntil } from '../support/wait.ts'

describe('the log destination', () => {
  it('writes a few lines within milliseconds', async function () {
    // Scheduling on a busy machine may delay the write.
    this.retries(5)
    const file = path.join(await makeFolder(), 'log')
    const fd = openSync(file, 'w')
    const destination = new LogDestination(fd, { isShared: false })
    const startedAt = performance.now()
    destination.write('one\n')
    await waitUntil(() => readFileSync(file, 'utf8') !== '')
    expect(performance.now() - startedAt).to.be.below(15)
    closeSync(fd)
  })
})

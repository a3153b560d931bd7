import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { watchHeartbeat } from '../../../../config/cluster/watch-heartbeat.ts'

describe('watchHeartbeat', () => {
  it('reports a process that does not respond, once', async () => {
    let missed = 0
    const hangs = () => new Promise(() => undefined)
    await new Promise<void>((resolve) => {
      const onMissed = () => {
        missed += 1
        resolve()
      }
      watchHeartbeat({ ping: hangs, timeoutMs: 50, onMissed })
    })
    expect(missed).to.equal(1)
  })

  it('does not report a process that responds, or once it was stopped', async () => {
    let missed = 0
    const onMissed = () => {
      missed += 1
    }
    const stop = watchHeartbeat({ ping: async () => undefined, timeoutMs: 50, onMissed })
    const stopEarly = watchHeartbeat({ ping: () => new Promise(() => undefined), timeoutMs: 50, onMissed })
    stopEarly()
    await sleep(200)
    stop()
    expect(missed).to.equal(0)
  })

  it('does not report a process because this one was suspended', async () => {
    let missed = 0
    const stop = watchHeartbeat({
      ping: async () => undefined,
      timeoutMs: 50,
      onMissed: () => {
        missed += 1
      },
    })
    await sleep(20)
    const until = performance.now() + 150
    while (performance.now() < until);
    await sleep(50)
    stop()
    expect(missed).to.equal(0)
  })
})

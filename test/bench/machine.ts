import os from 'node:os'

/** What figures of this run are worth: the machine, and how busy it was before. */
export function describeMachine(): string {
  const cpus = os.cpus()
  const memory = (os.totalmem() / 2 ** 30).toFixed(0)
  const [minute = 0] = os.loadavg()
  return `${cpus.length} × ${cpus[0]?.model.trim() ?? 'CPU'}, ${memory} GiB, ${os.type()} ${os.release()}, Node ${process.version}, load average before: ${minute.toFixed(2)}`
}

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  /** The whole message, with its headers. */
  readonly text: string
}

/** Starts a mail server without encryption, which accepts this user with this password. */
export async function startMailbox(user: string, password: string) {
  const mails: ReceivedMail[] = []
  const server = new SMTPServer({
    ...{ disabledCommands: ['STARTTLS'], allowInsecureAuth: true, disableReverseLookup: true },
    onAuth({ username, password: given }, _session, done) {
      if (username === user && given === password) done(null, { user })
      else done(new Error(`Wrong password ${given}`))
    },
    async onData(stream, { envelope }, done) {
      let text = ''
      for await (const piece of stream.setEncoding('utf8')) text += piece
      const { mailFrom, rcptTo } = envelope
      mails.push({ from: mailFrom ? mailFrom.address : '', to: rcptTo.map(({ address }) => address), text })
      done()
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  const { port } = server.server.address() as AddressInfo
  return { port, mails, close: () => new Promise<void>((resolve) => server.close(resolve)) }
}

import type { Command } from './command.ts'

const URL_OPTION = { url: { value: 'URL', summary: 'Address of the gateway; default: SIGNALBOX_URL.' } }

/** The commands that sign in to a gateway and out. */
export const SIGN_IN_COMMANDS: readonly Command[] = [
  {
    name: 'login',
    summary: 'Sign in to a gateway, for all commands with --url.',
    details:
      'Prints the address of a page on which you approve the sign-in as an operator, and waits. Keeps the ' +
      'token in sign-ins.json in $XDG_CONFIG_HOME/signalbox or ~/.config/signalbox, for you alone.',
    options: URL_OPTION,
    async run(args) {
      const { logIn } = await import('./sign-in-commands.ts')
      return logIn(args)
    },
  },
  {
    name: 'logout',
    summary: 'End the sign-in to a gateway.',
    details: 'Deletes the token, and revokes it at the gateway.',
    options: URL_OPTION,
    async run(args) {
      const { logOut } = await import('./sign-in-commands.ts')
      return logOut(args)
    },
  },
  {
    name: 'whoami',
    summary: 'Show who is signed in to a gateway.',
    details: 'Prints the operator, the role, and until when as a line of JSON.',
    options: URL_OPTION,
    async run(args) {
      const { whoAmI } = await import('./sign-in-commands.ts')
      return whoAmI(args)
    },
  },
]

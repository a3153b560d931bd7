import { ACCOUNT_COMMANDS } from './account-command-list.ts'
import type { Command } from './command.ts'
import { LOG_COMMANDS } from './log-command-list.ts'
import { ROUTER_COMMANDS } from './router-command-list.ts'
import { JSON_OUTPUT, REASON, TARGET } from './shared-options.ts'
import { SIGN_IN_COMMANDS } from './sign-in-command-list.ts'
import { TOOL_COMMANDS } from './tool-command-list.ts'

/** All commands, in the order of the help. The code of a command is imported when it runs. */
export const COMMANDS: readonly Command[] = [
  {
    name: 'start',
    summary: 'Run the gateway.',
    details: 'Prints one line of JSON to stdout once it serves. The log goes to stderr. SIGTERM stops it.',
    async run({ environment }) {
      const { runGateway } = await import('./start.ts')
      return runGateway(environment)
    },
  },
  {
    name: 'demo',
    summary: 'Fill an empty data folder with made-up traffic and changes, and start the gateway on it.',
    details:
      'Needs an empty DATA_DIR. The sandbox replaces all providers, whatever keys are set. Prints the ' +
      'address of the console and the keys of an operator and a user. The same SEED gives the same data.',
    options: {
      days: { value: 'DAYS', summary: 'Days up to now that are filled. Default: 30.' },
      seed: { value: 'SEED', summary: 'An integer that chooses the data. Default: 1.' },
      'no-start': { summary: 'Only fill the folder, and print the keys as a line of JSON.' },
    },
    async run(args) {
      const { runDemo } = await import('./demo.ts')
      return runDemo(args)
    },
  },
  {
    name: 'status',
    summary: 'Show the health of a gateway that runs.',
    details:
      'Prints whether it is ready, the version, the position of the event log, the providers, pending ' +
      'approvals, and what needs attention; without a key, only whether it is ready. Exits with 1 if it is ' +
      'not, or cannot be reached.',
    options: { ...JSON_OUTPUT, ...TARGET },
    async run(args) {
      const { printStatus } = await import('./status.ts')
      return printStatus(args)
    },
  },
  {
    name: 'doctor',
    summary: 'Check what a gateway needs on this machine, and say what to do.',
    details:
      'Checks the version of Node, the settings, the data folder, the event log as "log verify" does, the ' +
      'clock, the keys of providers, the ports and the memory. Changes nothing, and calls no provider. ' +
      'Exits with 1 if a check fails.',
    options: JSON_OUTPUT,
    async run(args) {
      const { printDiagnosis } = await import('./doctor.ts')
      return printDiagnosis(args)
    },
  },
  {
    name: 'config check',
    summary: 'Check the settings and the plugins without starting the gateway.',
    details:
      'If the settings are valid, loads the listed plugins and checks their names, contract versions, ' +
      'options and order. If a provider has a format of a package, sets the plugins up on an empty log. ' +
      'Prints the plugins in running order, or all issues, and exits with 1 if there are any.',
    async run(args) {
      const { checkConfig } = await import('./check-config.ts')
      return checkConfig(args)
    },
  },
  {
    name: 'plugin init',
    operands: ['NAME', '[FOLDER]'],
    summary: 'Write a plugin package to start from.',
    details:
      'NAME is the name of the npm package, such as signalbox-votes. FOLDER is created if it does not ' +
      'exist; default: NAME in the current folder. Writes package.json, index.js, two tests and ' +
      'README.md, never over existing files, and links this gateway in node_modules for "npm test".',
    options: {
      kind: {
        value: 'KIND',
        summary:
          'What the plugin does: request (rejects some; the default), rule (a condition and an action), ' +
          'filter (of replies), or provider.',
      },
    },
    async run(args) {
      const { initPlugin } = await import('./init-plugin.ts')
      return initPlugin(args)
    },
  },
  ...SIGN_IN_COMMANDS,
  ...ACCOUNT_COMMANDS,
  {
    name: 'providers check',
    operands: ['[PROVIDER]'],
    summary: 'Call each configured provider, and say what is wrong.',
    details:
      'Lists the models, which is free of charge, and prints the time, their number, and models of the ' +
      'catalogue that are not listed. Exits with 1 if a provider fails. PROVIDER is an id of the settings.',
    options: {
      paid: { summary: 'Send a request of one token to providers without a list that is free of charge.' },
      model: { value: 'MODEL', summary: 'Its model. Default: the cheapest one of the catalogue.' },
      ...JSON_OUTPUT,
    },
    async run(args) {
      const { checkProviders } = await import('./check-providers.ts')
      return checkProviders(args)
    },
  },
  {
    name: 'models check',
    operands: ['SOURCE'],
    summary: 'Compare the prices of the catalogue with those of a file or URL.',
    details:
      "SOURCE is models.dev's api.json, LiteLLM's model_prices_and_context_window.json, or rows as in " +
      'config/models.yaml. Prints all differences; dearer and cheaper say how SOURCE differs from the ' +
      'catalogue. Exits with 0 if there are none, 2 if there are some, and 1 on failure.',
    options: {
      'prices-only': { summary: 'Leave out models that only one of both has.' },
      ...JSON_OUTPUT,
    },
    async run(args) {
      const { checkModels } = await import('./check-models.ts')
      return checkModels(args)
    },
  },
  {
    name: 'models update',
    operands: ['SOURCE'],
    summary: 'Bring prices and models of the catalogue up to date from a file or URL.',
    details:
      "SOURCE is models.dev's api.json or LiteLLM's model_prices_and_context_window.json. Prints what is " +
      'new, dearer, cheaper and retired, and writes it to models.yaml in the data folder, which running ' +
      'gateways read again. New models are served by name, and not chosen automatically.',
    options: {
      'dry-run': { summary: 'Write nothing.' },
      accept: { summary: 'Accept prices that look like mistakes: 0, or ten times another.' },
    },
    async run(args) {
      const { updateModels } = await import('./update-models.ts')
      return updateModels(args)
    },
  },
  {
    name: 'presets',
    summary: 'List the presets for firewall rules.',
    options: JSON_OUTPUT,
    async run(args) {
      const { printPresets } = await import('./print-presets.ts')
      return printPresets(args)
    },
  },
  {
    name: 'rules export',
    summary: 'Write policies, groups, rules of users and budgets as YAML to stdout.',
    options: {
      only: { value: 'SECTIONS', summary: 'Some of groups,policies,users,budgets.' },
      names: { summary: 'Name everything in place of its id, for another gateway.' },
      ...TARGET,
    },
    async run(args) {
      const { exportRules } = await import('./rules-commands.ts')
      return exportRules(args)
    },
  },
  {
    name: 'rules plan',
    operands: ['FILE'],
    summary: 'Show what applying a file of rules would change.',
    details: 'Exits with 0 if there is nothing to do, 2 if there are changes, and 1 on failure.',
    options: {
      ...JSON_OUTPUT,
      ...TARGET,
    },
    async run(args) {
      const { planRules } = await import('./rules-commands.ts')
      return planRules(args)
    },
  },
  {
    name: 'rules apply',
    operands: ['FILE'],
    summary: 'Change policies, groups, rules of users and budgets to those of a file.',
    details:
      'Makes one append for each policy, group and user. Leaves alone what the file does not name. After a ' +
      'failure, applying the file again finishes.',
    options: {
      plan: { value: 'FILE', summary: 'Only if the changes are those of this plan, in JSON.' },
      position: { value: 'POSITION', summary: 'Only if the event log has no newer event.' },
      ...REASON,
      ...TARGET,
    },
    async run(args) {
      const { applyRules } = await import('./rules-commands.ts')
      return applyRules(args)
    },
  },
  {
    name: 'rules test',
    operands: ['CASES'],
    summary: 'Check what happens to requests, without a gateway and without calling a model.',
    details:
      'CASES is a file of requests with expected outcomes. Prints what is not as expected, and exits ' +
      'with 1 if there is anything.',
    options: {
      rules: { value: 'FILE', summary: 'A file of rules; default: the rules of the event log.' },
    },
    async run(args) {
      const { testRules } = await import('./test-rules.ts')
      return testRules(args)
    },
  },
  {
    name: 'what-if',
    operands: ['FILE'],
    summary: 'Show what the rules of a file would have done to recorded requests.',
    details:
      'FILE is a file of rules, as for "rules plan". Changes nothing. Requests need recorded prompts, and ' +
      'RECORD_KEY to read them.',
    options: {
      since: { value: 'SINCE', summary: 'Start: a duration such as 7d or 12h, or a time. Default: 7d.' },
      user: { value: 'USER', summary: 'Only requests of this user.' },
      limit: { value: 'COUNT', summary: 'Maximum number of requests. Default: 10000.' },
      ...JSON_OUTPUT,
      ...TARGET,
    },
    async run(args) {
      const { printWhatIf } = await import('./what-if.ts')
      return printWhatIf(args)
    },
  },
  ...ROUTER_COMMANDS,
  ...TOOL_COMMANDS,
  ...LOG_COMMANDS,
]

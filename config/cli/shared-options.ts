/** The option of commands that change something. */
export const REASON = { reason: { value: 'REASON', summary: 'Why, for the audit trail.' } }

/** The option of commands that list, compare or measure. */
export const JSON_OUTPUT = { json: { summary: 'Print JSON in place of text.' } }

/** The options of commands that work on a gateway that runs, or on the settings. */
export const TARGET = {
  url: { value: 'URL', summary: 'Address of a gateway; default: SIGNALBOX_URL, or the settings.' },
  'key-file': {
    value: 'FILE',
    summary: 'File with the key of an operator; default: SIGNALBOX_KEY, or the sign-in.',
  },
}

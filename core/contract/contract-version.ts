/** Version of what a plugin may rely on: `Plugin`, `PluginParts`, `Host` and what they mention. A change that breaks plugins takes the next. */
export const CONTRACT_VERSION = 1

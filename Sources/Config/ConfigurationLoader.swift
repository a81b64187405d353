/// Reads config.yaml.
package enum ConfigurationLoader {}

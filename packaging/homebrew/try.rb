# Runs the formula's installation without Homebrew: the words of its language that it uses, on an archive of this folder.
#   ruby try.rb DIR PREFIX
# Evaluates the file, picks the archive of this machine, compares its sum, unpacks it and installs into PREFIX.
require "digest"
require "fileutils"
require "tmpdir"

PACKAGES = File.expand_path(ARGV[0])
PREFIX = File.expand_path(ARGV[1])
ARM = RUBY_PLATFORM.match?(/arm64|aarch64/)
MAC = RUBY_PLATFORM.include?("darwin")

# A folder of the installation, which takes files, some under another name.
class Folder
  def initialize(path)
    @path = path
  end

  def install(*items)
    FileUtils.mkdir_p(@path)
    items.flatten.each do |item|
      from, to = item.is_a?(Hash) ? item.first : [item, File.basename(item)]
      FileUtils.cp(from, File.join(@path, to))
    end
  end
end

class Formula
  class << self
    attr_reader :values

    def inherited(formula)
      super
      formula.instance_variable_set(:@values, {})
    end

    [:desc, :homepage, :version, :license, :url, :sha256].each do |name|
      define_method(name) { |value| @values[name] = value }
    end

    def on_macos = (yield if MAC)
    def on_linux = (yield unless MAC)
    def on_arm = (yield if ARM)
    def on_intel = (yield unless ARM)
    def test = nil
  end

  def bin = Folder.new("#{PREFIX}/bin")
  def man1 = Folder.new("#{PREFIX}/share/man/man1")
  def bash_completion = Folder.new("#{PREFIX}/etc/bash_completion.d")
  def zsh_completion = Folder.new("#{PREFIX}/share/zsh/site-functions")
  def fish_completion = Folder.new("#{PREFIX}/share/fish/vendor_completions.d")
end

load File.join(PACKAGES, "clawscope.rb")
archive = File.join(PACKAGES, File.basename(Clawscope.values.fetch(:url)))
sum = Digest::SHA256.file(archive).hexdigest
abort "error: the sum of #{archive} is #{sum}" unless sum == Clawscope.values.fetch(:sha256)
Dir.mktmpdir do |folder|
  system("tar", "-xzf", archive, "-C", folder, "--strip-components=1", exception: true)
  Dir.chdir(folder) { Clawscope.new.install }
end
%w[bin/clawscope share/man/man1/clawscope.1 share/zsh/site-functions/_clawscope].each do |file|
  abort "error: the formula did not install #{file}" unless File.exist?(File.join(PREFIX, file))
end
puts "installs: the Homebrew formula"
